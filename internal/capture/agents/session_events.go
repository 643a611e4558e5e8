package agents

import (
	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

func (b *builder) sessionStarted(in object) {
	data := events.SessionStartData{From: in.text("source"), Model: in.text("model")}
	b.event(b.scope, events.RunStarted, "", events.RunStartedData{
		Model: data.Model, Cwd: b.p.Cwd, InputSummary: ingest.Clip(in.text("initialPrompt", "initial_prompt"), maxSummary),
	})
	b.main(b.scope, events.SessionStart, "", data)
	b.decides(hooks.Document{Payload: document(hooks.Session{From: data.From, Model: data.Model})},
		func(o events.Outcome, _ hooks.DocumentOutcome) any {
			data.Outcome = o
			return data
		})
}

const maxSummary = 2000

// failedEnds lists the reasons for the end of a session that mean a failure. Do not change the
// list, because a second import of a log must create the same events.
var failedEnds = map[string]bool{"error": true, "abort": true, "timeout": true}

func (b *builder) sessionEnded(in object) {
	reason := in.text("reason")
	b.main(b.scope, events.SessionEnded, "", events.SessionEndedData{Reason: reason})
	data := events.RunFinishedData{Success: !failedEnds[reason], Reason: reason}
	switch {
	case reason == "abort":
		data.SetStatus(events.RunInterrupted)
	case data.Success && b.leftTurn():
		data.Reason = events.ReasonInTurn
		data.SetStatus(events.RunUnknown)
	}
	b.event(b.scope, events.RunFinished, "", data)
	if data.Reason == events.ReasonInTurn && b.identity != "" { // earlier versions wrote a success under the usual id
		b.p.Events[len(b.p.Events)-1].ID = b.deriveID(string(events.RunFinished), b.scope.run, data.Reason)
	}
}

func (b *builder) prompted(text string) {
	data := events.PromptSubmitData{Prompt: text}
	b.main(b.scope, events.PromptSubmit, "", data)
	b.decides(hooks.Document{Payload: document(hooks.Prompt{Text: text})},
		func(o events.Outcome, out hooks.DocumentOutcome) any {
			var patch hooks.PromptPatch
			if out.Value.Decode(&patch) == nil {
				data.Directives = patch.Directives
			}
			data.Outcome = o
			return data
		})
}

func (b *builder) stopped(in object, output string) {
	b.main(b.scope, events.StepFinished, "", events.StepFinishedData{
		StepStatus: events.StepCompleted, OutputSummary: ingest.Clip(output, maxSummary),
		InputSummary: ingest.Clip(in.text("prompt"), maxSummary),
	})
}

func (b *builder) failed(message, class, typ, model string) {
	b.main(b.scope, events.Error, "", events.ErrorData{
		Error: events.Failure{Message: ingest.Clip(message, maxSummary), Class: class}, ErrorType: typ, Model: model,
	})
}

func (b *builder) compacts(in object) {
	data := events.CompactBeforeData{Trigger: in.text("trigger")}
	b.main(b.scope, events.CompactBefore, "", data)
	b.decides(hooks.Document{Payload: document(hooks.Compaction{Trigger: data.Trigger})},
		func(o events.Outcome, out hooks.DocumentOutcome) any {
			var patch hooks.CompactionPatch
			if out.Value.Decode(&patch) == nil {
				data.Preserve = patch.Preserve
			}
			data.Outcome = o
			return data
		})
}

func (b *builder) subagentStarted(sub scope, data events.SubagentStartData) {
	b.main(b.scope, events.SubagentStart, "", data)
	b.event(sub, events.RunStarted, "", events.RunStartedData{
		Cwd: b.p.Cwd, Title: data.Name, Model: data.Model, AgentRole: data.TaskType,
	})
	ask := hooks.Subagent{ID: data.Subagent, Name: data.Name, Model: data.Model, TaskType: data.TaskType}
	b.decides(hooks.Document{Payload: document(ask)}, func(o events.Outcome, _ hooks.DocumentOutcome) any {
		data.Outcome = o
		return data
	})
}

func (b *builder) subagentStopped(sub scope, data events.SubagentStoppedData, output string) {
	b.main(b.scope, events.SubagentStopped, "", data)
	b.event(sub, events.RunFinished, "", events.RunFinishedData{
		Success: data.Status != string(events.ToolError), OutputSummary: ingest.Clip(output, maxSummary),
	})
}

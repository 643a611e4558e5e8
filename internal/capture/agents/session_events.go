package agents

import (
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// sessionStarted is the beginning of a run, or its resumption.
func (b *build) sessionStarted() {
	data := events.SessionStartData{From: b.in.text("source"), Model: b.in.text("model")}
	b.event(b.here, events.RunStarted, "", events.RunStartedData{
		Model: data.Model, Cwd: b.p.Cwd, InputSummary: clip(b.in.text("initialPrompt", "initial_prompt"), maxSummary),
	})
	b.main(b.here, events.SessionStart, "", data)
	b.decides(hooks.Document{Payload: document(hooks.Session{From: data.From, Model: data.Model})},
		func(o events.Outcome, _ hooks.DocumentOutcome) any {
			data.Outcome = o
			return data
		})
}

// maxSummary bounds what is copied of texts that raw has in full.
const maxSummary = 2000

// failedEnds are the reasons with which a session ends that did not succeed.
var failedEnds = map[string]bool{"error": true, "abort": true, "timeout": true}

// sessionEnded is the end of a run, which may be resumed.
func (b *build) sessionEnded() {
	reason := b.in.text("reason")
	b.main(b.here, events.SessionEnded, "", events.SessionEndedData{Reason: reason})
	b.event(b.here, events.RunFinished, "", events.RunFinishedData{Success: !failedEnds[reason], Reason: reason})
}

// prompted is a prompt, which begins a step.
func (b *build) prompted(text string) {
	data := events.PromptSubmitData{Prompt: text}
	b.main(b.here, events.PromptSubmit, "", data)
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

// stopped is the end of a step.
func (b *build) stopped(output string) {
	b.main(b.here, events.StepFinished, "", events.StepFinishedData{
		StepStatus: events.StepCompleted, OutputSummary: clip(output, maxSummary),
		InputSummary: clip(b.in.text("prompt"), maxSummary),
	})
}

// failed is an error that is not one of a tool call.
func (b *build) failed(message, class, typ string) {
	b.main(b.here, events.Error, "", events.ErrorData{
		Error: events.Failure{Message: clip(message, maxSummary), Class: class}, ErrorType: typ, Model: b.in.text("model"),
	})
}

// compacts is the beginning of a compaction.
func (b *build) compacts() {
	data := events.CompactBeforeData{Trigger: b.in.text("trigger")}
	b.main(b.here, events.CompactBefore, "", data)
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

// subagentStarted is the start of a sub-agent, whose run is sub, by the one
// whose run is here.
func (b *build) subagentStarted(sub place, data events.SubagentStartData) {
	b.main(b.here, events.SubagentStart, "", data)
	b.event(sub, events.RunStarted, "", events.RunStartedData{
		Cwd: b.p.Cwd, Title: data.Name, Model: data.Model, AgentRole: data.TaskType,
	})
	ask := hooks.Subagent{ID: data.Subagent, Name: data.Name, Model: data.Model, TaskType: data.TaskType}
	b.decides(hooks.Document{Payload: document(ask)}, func(o events.Outcome, _ hooks.DocumentOutcome) any {
		data.Outcome = o
		return data
	})
}

// subagentStopped is the end of a sub-agent.
func (b *build) subagentStopped(sub place, data events.SubagentStoppedData, output string) {
	b.main(b.here, events.SubagentStopped, "", data)
	b.event(sub, events.RunFinished, "", events.RunFinishedData{
		Success: data.Status != string(events.ToolError), OutputSummary: clip(output, maxSummary),
	})
}

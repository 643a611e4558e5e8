package openhands

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type run struct {
	*ingest.Run
	turn     string // the answer of the open step; empty before the first
	calls    []call
	delegate call // the call of the parent that started this delegate
}

type call struct{ id, action, name string }

func (t *transcript) translate(i *item) {
	t.At(i.line)
	r := t.top()
	r.Touch(i.time)
	if i.total != nil {
		t.total = i.total
	}
	switch {
	case i.Action == "message":
		t.message(r, i)
	case i.Action == "system":
		r.Emit(i.origin(), events.MessageCreated, "", events.MessageData{
			Message: i.id, Role: "system", Content: textOr(i.Args, i.text("content")), Common: events.Common{Raw: i.raw},
		})
	case i.isCall():
		t.call(r, i)
	case i.Observation != "":
		t.observation(r, i)
	case i.Action == "condensation":
		r.Emit(i.origin(), events.CompactBefore, "", events.CompactBeforeData{Trigger: "auto", Common: events.Common{Raw: i.raw}})
	default:
		t.custom(r, i)
	}
}

func textOr(value json.RawMessage, text string) json.RawMessage {
	if text != "" {
		return ingest.JSON(text)
	}
	return value
}

func (t *transcript) message(r *run, i *item) {
	text := i.text("content")
	if i.Source == "user" || i.Source == "" && (t.latest == "" || t.latest == "agent") {
		t.latest = "user"
		r.turn = ""
		r.Prompt(i.origin(), events.PromptSubmitData{Prompt: text, Common: events.Common{Raw: i.raw}})
		return
	}
	t.latest = "agent"
	t.answered(r, i, text)
	r.Step().Answer(text)
	r.Emit(i.origin(), events.MessageCreated, "", events.MessageData{
		Message: i.id, Role: "assistant", Content: textOr(i.Args, text), Common: events.Common{Raw: i.raw},
	})
}

func (t *transcript) answered(r *run, i *item, text string) {
	id := cmp.Or(i.Call.Response.ID, "turn-"+i.id)
	if id == r.turn {
		r.Within(i.origin())
		return
	}
	if r.Step() == nil || r.turn != "" {
		r.Open(i.origin(), "")
	} else {
		r.Within(i.origin())
	}
	r.turn = id
	data := events.ResponseCompletedData{Message: id, Model: i.Call.Response.Model, Text: text}
	if len(i.Call.Response.Choices) > 0 {
		data.StopReason = i.Call.Response.Choices[0].Finish
	}
	if tokens, ok := t.used(i); ok {
		data.TokensUsed = &tokens
		r.Spend(tokens)
	}
	r.Emit(i.origin(), events.ResponseCompleted, "", data)
}

func (t *transcript) used(i *item) (events.Tokens, bool) {
	now := t.total // set by an item before the answer
	t.total = nil
	if i.Metrics != nil && i.Metrics.Usage != nil {
		now = new(i.Metrics.Usage.tokens())
	}
	if now == nil {
		return i.Call.Response.Usage.tokens(), i.Call.Response.Usage != nil
	}
	before := t.spent
	t.spent = *now
	return events.Tokens{
		Input: max(0, now.Input-before.Input), Output: max(0, now.Output-before.Output),
		CacheRead: max(0, now.CacheRead-before.CacheRead), CacheCreation: max(0, now.CacheCreation-before.CacheCreation),
	}, true
}

func (t *transcript) call(r *run, i *item) {
	t.latest = "agent"
	t.answered(r, i, i.thought())
	id := i.Call.ID
	if id == "" || r.Called(id) {
		id = "action-" + i.id
	}
	c := call{id: id, action: i.id, name: i.Action}
	args, others := i.args()
	r.Call(i.origin(), id, events.ToolBeforeData{Tool: i.tool(), Args: args, Common: events.Common{Raw: others}})
	r.calls = append(r.calls, c)
	switch {
	case i.Action == "finish", i.Action == "reject":
		t.finish(r, i)
	case i.Action == "delegate" && i.kind == "": // newer delegates have separate conversations
		t.delegate(r, i, c)
	}
}

func (t *transcript) finish(r *run, i *item) {
	text := cmp.Or(i.text("final_thought", "message", "outputs", "thought"), i.thought())
	r.Step().Answer(text)
	r.Step().Status = events.StepCompleted // nothing answers this call
	if len(t.runs) == 1 {
		t.finished = &finish{text: text, completed: i.text("task_completed"), rejected: i.Action == "reject"}
	}
}

func (t *transcript) delegate(r *run, i *item, c call) {
	agent := i.text("agent")
	name := "delegate-" + i.id
	r.Emit(i.origin(), events.SubagentStart, c.id, events.SubagentStartData{Subagent: name, Name: agent, TaskType: agent})
	if agent == "" || !ingest.Usable(agent) {
		agent = name
	}
	sub := t.Run(r.Sub(name, agent), i.origin(), events.RunStartedData{})
	sub.PerAnswer = true
	t.runs = append(t.runs, &run{Run: sub, delegate: c})
}

func (t *transcript) observation(r *run, i *item) {
	t.latest = "observation"
	if i.Observation == "delegate" && len(t.runs) > 1 {
		t.delegated(i)
		r = t.top()
	}
	c, ok := r.answers(i)
	switch {
	case ok:
		t.result(r, i, c.id)
	case i.kind == "ObservationEvent" && i.Call.ID != "":
		t.result(r, i, i.Call.ID) // the call is not in the file
	case i.Observation == "error":
		message := ingest.Clip(ingest.Flatten(i.Content), ingest.MaxMessage)
		r.Emit(i.origin(), events.Error, "", events.ErrorData{
			Error: events.Failure{Message: message, Class: "agent_error"}, ErrorType: "agent_error", Common: events.Common{Raw: i.raw},
		})
	default:
		t.custom(r, i)
	}
}

func (t *transcript) delegated(i *item) {
	sub := t.top()
	sub.end(!i.failed())
	t.runs = t.runs[:len(t.runs)-1]
	r, status := t.top(), events.ToolSuccess
	if i.failed() {
		status = events.ToolError
	}
	r.Emit(i.origin(), events.SubagentStopped, sub.delegate.id, events.SubagentStoppedData{
		Subagent: "delegate-" + sub.delegate.action, Name: sub.Agent, Status: string(status),
	})
}

func (r *run) answers(i *item) (call, bool) {
	cause := idOf(i.Cause)
	n := slices.IndexFunc(r.calls, func(c call) bool {
		switch {
		case cause != "":
			return c.action == cause
		case i.Call.ID != "":
			return c.id == i.Call.ID
		}
		return len(i.Number) == 0 && (c.name == i.Observation || i.Observation == "error" || i.Observation == "user_rejected")
	})
	if n < 0 {
		return call{}, false
	}
	c := r.calls[n]
	r.calls = slices.Delete(r.calls, n, n+1)
	return c, true
}

func (t *transcript) result(r *run, i *item, call string) {
	data := events.ToolResultData{
		Status: events.ToolSuccess, Result: i.Content, ExitCode: i.exitCode(),
		Common: events.Common{Raw: ingest.Without(i.raw, "content")},
	}
	if i.failed() {
		data.Status = events.ToolError
		data.Error, data.Result = i.failure()
		if i.Observation == "user_rejected" {
			data.Status, data.DeniedBy = events.ToolDenied, events.DeniedByUser
		}
	}
	if !r.Called(call) {
		data.Tool = i.Call.Tool
	}
	if !r.Result(i.origin(), call, data) {
		t.custom(r, i)
	}
}

func (t *transcript) custom(r *run, i *item) {
	r.Emit(i.origin(), events.Custom, "", events.CustomData{Name: i.name(), Common: events.Common{Raw: i.raw}})
}

func (r *run) end(success bool) {
	r.CloseStep()
	data := r.Finished()
	data.SetStatus(events.RunFailed)
	if success {
		data.SetStatus(events.RunCompleted)
	}
	r.Finish(&data)
}

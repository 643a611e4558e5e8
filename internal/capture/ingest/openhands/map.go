package openhands

import (
	"encoding/json"
	"slices"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// run is what is remembered of a run beside what the kit counts.
type run struct {
	*ingest.Run
	turn     string // the answer that the open step is about; empty before there is one
	calls    []call // without an observation, oldest first
	delegate call   // of the parent, which a delegate's run answers
}

// call names a tool call and its action.
type call struct{ id, action, name string }

// translate maps one item.
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
		content := i.Args
		r.Emit(i.place(), events.MessageCreated, "", events.MessageData{
			Message: i.id, Role: "system", Content: textOr(content, i.text("content")), Common: events.Common{Raw: i.raw},
		})
	case i.isCall():
		t.call(r, i)
	case i.Observation != "":
		t.observation(r, i)
	case i.Action == "condensation":
		r.Emit(i.place(), events.CompactBefore, "", events.CompactBeforeData{Trigger: "auto", Common: events.Common{Raw: i.raw}})
	default:
		t.custom(r, i)
	}
}

// textOr returns text as JSON, or all of the value where there is no text.
func textOr(value json.RawMessage, text string) json.RawMessage {
	if text != "" {
		return ingest.JSON(text)
	}
	return value
}

// message maps what the user or the agent says. Files of the old shape do not
// tell whose a message is: the first is the user's, and so is one that follows
// on the agent's.
func (t *transcript) message(r *run, i *item) {
	text := i.text("content")
	if i.Source == "user" || i.Source == "" && (t.latest == "" || t.latest == "agent") {
		t.latest = "user"
		r.turn = ""
		r.Prompt(i.place(), events.PromptSubmitData{Prompt: text, Common: events.Common{Raw: i.raw}})
		return
	}
	t.latest = "agent"
	t.answered(r, i, text)
	r.Step().Answer(text)
	r.Emit(i.place(), events.MessageCreated, "", events.MessageData{
		Message: i.id, Role: "assistant", Content: textOr(i.Args, text), Common: events.Common{Raw: i.raw},
	})
}

// answered opens a step for the answer of the model that i is from, and counts
// the answer, once.
func (t *transcript) answered(r *run, i *item, text string) {
	id := i.Call.Response.ID
	if id == "" {
		id = "turn-" + i.id
	}
	if id == r.turn {
		r.Within(i.place())
		return
	}
	if r.Step() == nil || r.turn != "" {
		r.Open(i.place(), "")
	} else {
		r.Within(i.place())
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
	r.Emit(i.place(), events.ResponseCompleted, "", data)
}

// used returns what the answer that i is from used: what the run had used with
// it and not before, else what the answer itself says.
func (t *transcript) used(i *item) (events.Tokens, bool) {
	now := t.total // told in front of the answer
	t.total = nil
	if i.Metrics != nil && i.Metrics.Usage != nil {
		tokens := i.Metrics.Usage.tokens()
		now = &tokens
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

// call maps an action that calls a tool.
func (t *transcript) call(r *run, i *item) {
	t.latest = "agent"
	t.answered(r, i, i.thought())
	id := i.Call.ID
	if id == "" || r.Called(id) {
		id = "action-" + i.id
	}
	c := call{id: id, action: i.id, name: i.Action}
	args, rest := i.args()
	r.Call(i.place(), id, events.ToolBeforeData{Tool: i.tool(), Args: args, Common: events.Common{Raw: rest}})
	r.calls = append(r.calls, c)
	switch {
	case i.Action == "finish", i.Action == "reject":
		t.finish(r, i)
	case i.Action == "delegate" && i.kind == "": // later delegates have conversations of their own
		t.delegate(r, i, c)
	}
}

// finish takes in that the agent says it is done. That of a delegate is not the
// run's.
func (t *transcript) finish(r *run, i *item) {
	text := i.text("final_thought", "message", "outputs", "thought")
	if text == "" {
		text = i.thought()
	}
	r.Step().Answer(text)
	if len(t.runs) == 1 {
		t.finished = &finish{text: text, completed: i.text("task_completed"), rejected: i.Action == "reject"}
	}
}

// delegate begins the run of a sub-agent, which goes on until its observation.
func (t *transcript) delegate(r *run, i *item, c call) {
	agent := i.text("agent")
	name := "delegate-" + i.id
	r.Emit(i.place(), events.SubagentStart, c.id, events.SubagentStartData{Subagent: name, Name: agent, TaskType: agent})
	if agent == "" || !ingest.Usable(agent) {
		agent = name
	}
	who := ingest.Identity{
		Run: r.Identity.Run + "/" + name, Session: r.Session, Agent: agent, ParentRun: r.Identity.Run, ParentAgent: r.Agent,
	}
	t.runs = append(t.runs, &run{Run: t.Run(who, i.place(), events.RunStartedData{}), delegate: c})
}

// observation maps what an action led to.
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
		r.Emit(i.place(), events.Error, "", events.ErrorData{
			Error: events.Failure{Message: message, Class: "agent_error"}, ErrorType: "agent_error", Common: events.Common{Raw: i.raw},
		})
	default:
		t.custom(r, i)
	}
}

// delegated ends the run of the innermost delegate.
func (t *transcript) delegated(i *item) {
	sub := t.top()
	sub.Finish(nil)
	t.runs = t.runs[:len(t.runs)-1]
	r, status := t.top(), events.ToolSuccess
	if i.failed() {
		status = events.ToolError
	}
	r.Emit(i.place(), events.SubagentStopped, sub.delegate.id, events.SubagentStoppedData{
		Subagent: "delegate-" + sub.delegate.action, Name: sub.Agent, Status: string(status),
	})
}

// answers returns the call that an observation is about: that of its cause, or
// that of its call's id; and in files of the old shape, which name neither, the
// oldest of its kind.
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
	}
	if !r.Called(call) {
		data.Tool = i.Call.Tool
	}
	if !r.Result(i.place(), call, data) {
		t.custom(r, i)
	}
}

// custom keeps an item that has no kind of its own.
func (t *transcript) custom(r *run, i *item) {
	r.Emit(i.place(), events.Custom, "", events.CustomData{Name: i.name(), Common: events.Common{Raw: i.raw}})
}

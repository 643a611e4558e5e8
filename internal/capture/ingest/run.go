package ingest

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Identity is whose run it is: what all events of a run have in common.
type Identity struct {
	Run     string
	Session string
	Agent   string // the tool, or the name of a sub-agent

	ParentRun, ParentAgent string // of a sub-agent's run
}

// Run makes the events of one run of an input, and keeps the counters that its
// steps and the run itself are told to have at their end. It remembers the ids
// of tool calls, and no content.
type Run struct {
	Identity
	Failure *events.Failure // how the latest step failed; nil when it did not
	Output  string          // what the latest step answered, clipped
	About   json.RawMessage // what the tool itself says of the run, for raw of its end

	m           *Emitter
	step        *Step // nil before the first and after the last
	calls       map[string]*call
	first, last time.Time
	finished    bool

	stepIDs map[string]int // how often each was asked for

	steps, toolCalls, toolErrors, answered int
	tokens                                 events.Tokens
}

// call is a tool call. It is kept after its result came, to know a second one.
type call struct {
	tool     string
	at       time.Time
	answered bool
}

// Run starts the run of id at p, and emits run.started. A run that was started
// before is returned as it is: the input goes on with it.
func (m *Emitter) Run(id Identity, p Place, started events.RunStartedData) *Run {
	if r := m.runs[id.Run]; r != nil {
		return r
	}
	r := &Run{Identity: id, m: m, first: p.Time, last: p.Time, calls: map[string]*call{}, stepIDs: map[string]int{}}
	m.runs[id.Run] = r
	m.order = append(m.order, r)
	r.Emit(p, events.RunStarted, "", started)
	return r
}

// Started reports whether the run of that id was started.
func (m *Emitter) Started(run string) bool { return m.runs[run] != nil }

// Emit emits an event of the run and of its present step. Its id is derived from
// the place and the kind: an adapter emits one event of a kind from one block.
func (r *Run) Emit(p Place, kind events.Kind, toolCall string, payload any) {
	e := r.event(p.Time, kind, payload)
	e.ID = events.DeriveID(r.m.opts.Tenant, r.m.source, r.Run, p.ID, strconv.Itoa(p.Block), string(kind))
	e.Step, e.ToolCall = r.StepID(), toolCall
	r.m.Send(e)
}

// Aggregate emits an event whose content grows with the input. Its id covers
// the content; name tells it from other aggregates of the kind in this run.
func (r *Run) Aggregate(name, step string, at time.Time, kind events.Kind, payload any) {
	e := r.event(at, kind, payload)
	e.ID = events.DeriveID(r.m.opts.Tenant, r.m.source, r.Run, name, string(kind), r.m.stamp(at), string(e.Data))
	e.Step = step
	r.m.Send(e)
}

func (r *Run) event(at time.Time, kind events.Kind, payload any) events.Event {
	e := events.Event{
		Source: r.m.source, Type: kind.Type(), Subject: r.Run, Time: at, Tenant: r.m.opts.Tenant,
		Run: r.Run, Session: r.Session, Agent: r.Agent, ParentAgent: r.ParentAgent, ParentRun: r.ParentRun,
	}
	if err := e.SetData(payload); err != nil {
		r.m.Report(err)
	}
	return e
}

// Touch says that something of the run happened at that time. A run lasts from
// its start to the latest of them.
func (r *Run) Touch(at time.Time) {
	if at.After(r.last) {
		r.last = at
	}
}

// Call emits the tool.before of call id, and opens a step where none is open. A
// second call with the id of an earlier one is not emitted and not counted, and
// Call returns false: the adapter says so with an event of its own.
func (r *Run) Call(p Place, id string, data events.ToolBeforeData) bool {
	s := r.Within(p)
	if r.calls[id] != nil {
		return false
	}
	r.calls[id] = &call{tool: data.Tool, at: p.Time}
	r.toolCalls++
	s.ToolCalls++
	r.Emit(p, events.ToolBefore, id, data)
	return true
}

// Called reports whether call id was made.
func (r *Run) Called(id string) bool { return r.calls[id] != nil }

// Answered reports whether the result of call id came.
func (r *Run) Answered(id string) bool { return r.calls[id] != nil && r.calls[id].answered }

// Result emits the tool.result of call id, which need not have been made. Where
// data names no tool, it is that of the call; where it tells no duration, it is
// the time since the call. A second result of a call is not emitted and not
// counted, and Result returns false.
func (r *Run) Result(p Place, id string, data events.ToolResultData) bool {
	s := r.Within(p)
	k := r.calls[id]
	switch {
	case k == nil:
		k = &call{at: p.Time}
		r.calls[id] = k
	case k.answered:
		return false
	default:
		r.answered++
	}
	k.answered = true
	if data.Tool == "" {
		data.Tool = k.tool
	}
	if data.DurationMS == 0 {
		data.DurationMS = max(0, p.Time.Sub(k.at).Milliseconds())
	}
	if data.Status == events.ToolError {
		r.toolErrors++
		s.ToolErrors++
	}
	r.Emit(p, events.ToolResult, id, data)
	return true
}

// Spend adds tokens to the run and to its present step, if one is open.
func (r *Run) Spend(tokens events.Tokens) {
	r.tokens = r.tokens.Plus(tokens)
	if r.step != nil {
		r.step.Tokens = r.step.Tokens.Plus(tokens)
	}
}

// Finished returns what is known of the run so far, as its end tells it.
func (r *Run) Finished() events.RunFinishedData {
	tokens := r.tokens
	return events.RunFinishedData{
		Success:       r.Failure == nil,
		OutputSummary: r.Output,
		DurationMS:    r.last.Sub(r.first).Milliseconds(),
		TokensUsed:    &tokens,
		Steps:         r.steps,
		ToolCalls:     r.toolCalls,
		ToolErrors:    r.toolErrors,
		Unanswered:    r.toolCalls - r.answered,
		Error:         r.Failure,
		Common:        events.Common{Raw: r.About},
	}
}

// Finish ends the open step and tells the end of the run: data, or what
// [Run.Finished] returns where data is nil. While the input is open it does
// nothing.
func (r *Run) Finish(data *events.RunFinishedData) {
	if r.m.opts.Open {
		return
	}
	r.CloseStep()
	if data == nil {
		finished := r.Finished()
		data = &finished
	}
	r.finished = true
	r.Aggregate("", "", r.last, events.RunFinished, *data)
}

// Finish finishes all runs of the input that were not finished yet, in the order
// in which they were started. While the input is open it does nothing.
func (m *Emitter) Finish() {
	for _, r := range m.order {
		if !r.finished {
			r.Finish(nil)
		}
	}
}

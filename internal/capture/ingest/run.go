package ingest

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"strconv"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Identity contains the attributes that all events of a run share.
type Identity struct {
	Run     string
	Session string
	Agent   string

	ParentRun, ParentAgent string
}

// Sub returns the identity of a child run of i, such as the run of a sub-agent. The children of a
// run must have different names.
func (i Identity) Sub(name, agent string) Identity {
	return Identity{Run: i.Run + "/" + name, Session: i.Session, Agent: agent, ParentRun: i.Run, ParentAgent: i.Agent}
}

// Run emits the events of one run and pairs calls with results.
type Run struct {
	Identity
	Failure *events.Failure // the failure of the latest step; nil for success
	Output  string
	Status  events.RunStatus // of the latest step; empty counts as unknown
	About   json.RawMessage  // the raw member of run.finished
	Cost    *events.Cost     // as the input states it; nil if it does not
	// PerAnswer is set if each step is a single answer of the model. The end of such a step does
	// not mean that the run is complete.
	PerAnswer bool

	m           *Emitter
	step        *Step
	calls       map[string]*call
	first, last time.Time
	finished    bool

	stepIDs, named UniqueNames
	equal          map[[sha256.Size]byte]int // equal calls and prompts, see HookCall

	steps, toolCalls, answered  int
	errors, denied, interrupted int // results by status
	tokens                      events.Tokens
	told                        bool // the input states tokens
	bills                       bills
}

type call struct {
	step     *Step // until the result
	tool     string
	at       time.Time
	answered bool
}

// Run starts a run and emits run.started. If the run was started before, it returns the existing
// Run.
func (m *Emitter) Run(id Identity, p Origin, started events.RunStartedData) *Run {
	if r := m.runs[id.Run]; r != nil {
		return r
	}
	r := &Run{Identity: id, m: m, first: p.Time, last: p.Time, calls: map[string]*call{}, bills: bills{}}
	m.runs[id.Run] = r
	m.order = append(m.order, r)
	r.Emit(p, events.RunStarted, "", started)
	return r
}

// Started reports whether run.started was emitted for the run with the given id.
func (m *Emitter) Started(run string) bool { return m.runs[run] != nil }

// Emit emits an event of the run and of its open step. It derives the event id from p and kind, so
// call Emit only once for each combination.
func (r *Run) Emit(p Origin, kind events.Kind, toolCall string, payload any) {
	e := r.event(p.Time, kind, payload)
	e.ID = events.DeriveID(r.m.opts.Tenant, r.m.source, r.Run, p.ID, strconv.Itoa(p.Block), string(kind))
	e.Step, e.ToolCall = r.StepID(), toolCall
	r.m.Send(e)
}

// Aggregate emits an event about several lines of the input, such as a total. If the data
// changes, the event gets another id, because the id depends on the data. Events of the same kind
// must have different names.
func (r *Run) Aggregate(name, step string, at time.Time, kind events.Kind, payload any) {
	e := r.event(at, kind, payload)
	e.ID = events.DeriveID(r.m.opts.Tenant, r.m.source, r.Run, name, string(kind), r.m.stamp(at), string(e.Data))
	e.Step = step
	if end, ok := payload.(events.RunFinishedData); ok && end.Cost == nil {
		if cost := r.bills.cost(r.m.opts.Prices); cost != nil { // an estimate is not part of the id, because prices change
			e.Data = withMember(e.Data, "cost", JSON(cost))
		}
	}
	r.m.Send(e)
}

func (r *Run) event(at time.Time, kind events.Kind, payload any) events.Event {
	if answer, ok := payload.(events.ResponseCompletedData); ok {
		r.bills.add(answer)
	}
	e := events.Event{
		Source: r.m.source, Type: kind.Type(), Subject: r.Run, Time: at, Tenant: r.m.opts.Tenant,
		Run: r.Run, Session: r.Session, Agent: r.Agent, ParentAgent: r.ParentAgent, ParentRun: r.ParentRun,
	}
	if err := e.SetData(payload); err != nil {
		r.m.Report(err)
	}
	return e
}

// Touch moves the end of the run to the given time if that is later.
func (r *Run) Touch(at time.Time) {
	if at.After(r.last) {
		r.last = at
	}
}

// Call emits tool.before, in a new step if none is open. If the run already has a call or a result
// with this id, Call emits nothing and returns false.
func (r *Run) Call(p Origin, id string, data events.ToolBeforeData) bool {
	s := r.Within(p)
	if r.calls[id] != nil {
		return false
	}
	r.calls[id] = &call{tool: data.Tool, step: s, at: p.Time}
	r.toolCalls++
	s.ToolCalls++
	s.goesOn()
	r.Emit(p, events.ToolBefore, id, data)
	return true
}

// Called reports whether the run has a call or a result with this id.
func (r *Run) Called(id string) bool { return r.calls[id] != nil }

// Tool returns the name of the tool that the call with this id uses, or "" if the call is unknown.
func (r *Run) Tool(id string) string {
	if k := r.calls[id]; k != nil {
		return k.tool
	}
	return ""
}

// Answered reports whether tool.result was emitted for the call with this id.
func (r *Run) Answered(id string) bool { return r.calls[id] != nil && r.calls[id].answered }

// Result emits tool.result. If the call with this id already has a result, Result emits nothing and
// returns false.
func (r *Run) Result(p Origin, id string, data events.ToolResultData) bool {
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
		k.step.answered++
		k.step = nil
	}
	k.answered = true
	if data.Tool == "" {
		data.Tool = k.tool
	}
	if data.DurationMS == 0 {
		data.DurationMS = max(0, r.m.between(k.at, p.Time))
	}
	r.count(s, data.Status)
	s.goesOn()
	r.Emit(p, events.ToolResult, id, data)
	return true
}

func (r *Run) count(s *Step, status events.ToolStatus) {
	switch status {
	case events.ToolSuccess:
	case events.ToolError:
		r.errors++
		s.ToolErrors++
	case events.ToolDenied:
		r.denied++
		s.ToolDenied++
	case events.ToolInterrupted:
		r.interrupted++
		s.ToolInterrupted++
	}
}

// Spend adds tokens to the totals of the run and of its open step.
func (r *Run) Spend(tokens events.Tokens) {
	r.tokens, r.told = r.tokens.Plus(tokens), true
	if r.step != nil {
		r.step.Tokens, r.step.told = r.step.Tokens.Plus(tokens), true
	}
}

// Finished returns the data of a run.finished event, as if the run ended now.
func (r *Run) Finished() events.RunFinishedData {
	data := events.RunFinishedData{
		OutputSummary:   r.Output,
		DurationMS:      r.m.between(r.first, r.last),
		TokensUsed:      toldTokens(r.tokens, r.told),
		Steps:           r.steps,
		ToolCalls:       r.toolCalls,
		ToolErrors:      r.errors,
		ToolDenied:      r.denied,
		ToolInterrupted: r.interrupted,
		Unanswered:      r.toolCalls - r.answered,
		Cost:            r.Cost,
		Error:           r.Failure,
		Common:          events.Common{Raw: r.About},
	}
	data.SetStatus(r.status())
	return data
}

func toldTokens(t events.Tokens, told bool) *events.Tokens {
	if !told {
		return nil
	}
	return &t
}

func (r *Run) status() events.RunStatus {
	switch {
	case r.Failure != nil:
		return events.RunFailed
	case r.PerAnswer && r.Status == events.RunCompleted:
		return events.RunUnknown
	}
	return cmp.Or(r.Status, events.RunUnknown)
}

// Finish ends the open step and emits run.finished. If data is nil, the event contains the result
// of [Run.Finished]. If Options.Open is set, Finish does nothing.
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

// Finish finishes all open runs in the order in which they started. If Options.Open is set, it does
// nothing.
func (m *Emitter) Finish() {
	for _, r := range m.order {
		if !r.finished {
			r.Finish(nil)
		}
	}
}

package runtree

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Fold collects the events of the runs of one tenant. The zero Fold is empty and
// ready for use by one goroutine.
type Fold struct {
	Tenant string
	runs   map[string]*run
}

// run is what is kept of the events of a run.
type run struct {
	facts    []*fact
	byID     map[string]*fact
	events   int
	sealed   bool
	children map[string]bool // ids of sub-agents that its events name
}

// fact is what a trace needs of one event.
type fact struct {
	kind    events.Kind
	n       int // its place among those that came
	at      time.Time
	step    string
	call    string
	session string
	source  string
	agent   string
	parent  string
	data    any // what its kind has, nil where the payload is not what the kind promises
}

// Add takes in an event. One that is not what its kind promises is counted and
// shown without details: a trace shows what is there.
func (f *Fold) Add(e events.Event) {
	if f.runs == nil {
		f.runs = map[string]*run{}
	}
	r := f.runs[e.Run]
	if r == nil {
		r = &run{byID: map[string]*fact{}, children: map[string]bool{}}
		f.runs[e.Run] = r
	}
	kind := e.Kind()
	if before, ok := r.byID[e.ID]; ok && e.ID != "" {
		before.again(kind, e)
		return
	}
	r.events++
	switch kind { //nolint:exhaustive // what services say about a run is not part of it
	case events.RunSealed:
		r.sealed = true
		r.byID[e.ID] = &fact{kind: kind}
		return
	case events.IssueDecided, events.IssueEdited, events.GapRecorded, events.AuditAccessed, events.ClockTicked:
		r.byID[e.ID] = &fact{kind: kind}
		return
	}
	r.sealed = false
	x := &fact{
		kind: kind, n: r.events, at: e.Time, step: e.Step, call: e.ToolCall, session: cmp.Or(e.Session, e.Run),
		source: e.Source, agent: e.Agent, parent: e.ParentRun,
	}
	if digest, ok := digests[kind]; ok {
		x.data = digest(e)
	}
	if sub, ok := x.data.(subagent); ok && sub.id != "" {
		r.children[sub.id] = true
	}
	r.byID[e.ID] = x
	r.facts = append(r.facts, x)
}

// again takes in an event that came before: what was decided strongest about it
// counts, whichever came first, and the earlier time. An agent that has hooks in
// two ways may tell of one call under two names.
func (x *fact) again(kind events.Kind, e events.Event) {
	if x.kind != kind {
		return
	}
	if e.Time.Before(x.at) {
		x.at = e.Time
	}
	digest, ok := digests[kind]
	if !ok || kind != events.ToolBefore && kind != events.Approval {
		return
	}
	was, hasBefore := x.data.(call)
	now, hasNow := digest(e).(call)
	stronger := cmp.Or(cmp.Compare(rank(now.verdict), rank(was.verdict)), cmp.Compare(was.name, now.name))
	if hasNow && (!hasBefore || stronger > 0) {
		x.data = now
	}
}

// rank orders verdicts by their strength.
func rank(v events.Verdict) int {
	return slices.Index([]events.Verdict{events.VerdictNone, events.VerdictAllow, events.VerdictAsk, events.VerdictDeny}, v)
}

// Runs returns the ids of the runs of which there are events, in order.
func (f *Fold) Runs() []string { return slices.Sorted(maps.Keys(f.runs)) }

// Subagents returns the ids of the runs that the sub-agents of a run can have:
// below that of the session, or their own. There may be no events of them here.
func (f *Fold) Subagents(id string) []string {
	r := f.runs[id]
	if r == nil {
		return nil
	}
	var list []string
	for _, sub := range slices.Sorted(maps.Keys(r.children)) {
		list = append(list, r.session()+"/"+sub, sub)
	}
	return list
}

// session returns the session of a run, its own id if no event says.
func (r *run) session() string {
	for _, x := range r.facts {
		if x.session != "" {
			return x.session
		}
	}
	return ""
}

// Trace returns the trace of a run, with those of its sub-agents below it.
func (f *Fold) Trace(id string) Trace { return f.trace(id, map[string]bool{}) }

func (f *Fold) trace(id string, above map[string]bool) Trace {
	above[id] = true
	defer delete(above, id)
	t := newTracer(f, id)
	if r := f.runs[id]; r != nil {
		t.fold(r)
	}
	for _, child := range f.Runs() {
		if f.runs[child].parent() == id && !above[child] {
			t.trace.Children = append(t.trace.Children, f.trace(child, above))
		}
	}
	slices.SortStableFunc(t.trace.Children, func(a, b Trace) int { return a.Started.Compare(b.Started) })
	return t.trace
}

// parent returns the run that started r, as far as its events say.
func (r *run) parent() string {
	for _, x := range r.facts {
		if x.parent != "" {
			return x.parent
		}
	}
	return ""
}

// inTime returns the facts by their time, those of the same time as they came.
func (r *run) inTime() []*fact {
	return slices.SortedStableFunc(slices.Values(r.facts), func(a, b *fact) int {
		return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.n, b.n))
	})
}

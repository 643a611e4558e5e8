package runtree

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// A Fold collects the events of a tenant's runs for [Fold.Trace]. It is not safe for concurrent
// use.
type Fold struct {
	Tenant string
	runs   map[string]*run
}

type run struct {
	facts    []*fact
	byID     map[string]*fact
	events   int
	sealed   bool
	children map[string]bool // ids of sub-agents
	altered  []Altered
	doubts   []Doubt
}

type fact struct {
	id      string
	kind    events.Kind
	n       int // number of events when Add added this event
	at      time.Time
	untimed bool // the source does not state at
	step    string
	call    string
	session string
	source  string
	agent   string
	parent  string
	user    string
	removed string // how an order destroyed the payload, or empty
	altered bool
	doubt   string // status of a Doubt about the event
	data    any    // parts of the payload; nil if it is invalid

	denies, succeeds bool // of the call, whatever the form of the payload
}

// Add adds an event to its run. If the payload is invalid, the trace shows the event without facts
// from the payload.
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
		before.merge(kind, e)
		return
	}
	r.events++
	switch kind { //nolint:exhaustive // events of services are not part of a run
	case events.RunSealed:
		r.sealed = true
		r.byID[e.ID] = &fact{kind: kind}
		return
	case events.IssueDecided, events.IssueEdited, events.GapRecorded, events.AuditAccessed, events.ProducerLost, events.ClockTicked:
		r.byID[e.ID] = &fact{kind: kind}
		return
	}
	r.sealed = false
	x := &fact{
		id: e.ID, kind: kind, n: r.events, at: e.Time, untimed: e.Untimed(), step: e.Step, call: e.ToolCall, session: cmp.Or(e.Session, e.Run),
		source: e.Source, agent: e.Agent, parent: e.ParentRun, user: e.User, denies: e.DeniesCall(), succeeds: e.CallSucceeded(),
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

// AddRemoved adds an event whose payload an order has destroyed. word says how, such as "erased".
// The trace counts the event, but no step contains it.
func (f *Fold) AddRemoved(e events.Event, word string) {
	f.Add(e)
	if x := f.runs[e.Run].byID[e.ID]; x != nil {
		x.data, x.removed = nil, word
	}
}

// AddAltered adds an event whose record was changed after it had been signed. The id, kind, run
// and time in e must be from the leaf, which is still intact.
func (f *Fold) AddAltered(e events.Event, a Altered) {
	f.Add(e)
	r := f.runs[e.Run]
	r.altered = append(r.altered, a)
	if x := r.byID[e.ID]; x != nil {
		x.altered = true
	}
}

// Doubt marks an event that was added before as possibly forged. It fills in the id and the kind
// in d.
func (f *Fold) Doubt(e events.Event, d Doubt) {
	r := f.runs[e.Run]
	d.ID, d.Kind = e.ID, e.Kind()
	r.doubts = append(r.doubts, d)
	if x := r.byID[e.ID]; x != nil {
		x.doubt = d.Status
	}
}

// SetApart adds a doubt about a record that was sent for the run, but that does not count as an
// event of the run, such as a conflict.
func (f *Fold) SetApart(run string, d Doubt) {
	if r := f.runs[run]; r != nil {
		r.doubts = append(r.doubts, d)
	}
}

// The earliest stated time and the strictest verdict win, so that the order of the copies does not
// matter.
func (x *fact) merge(kind events.Kind, e events.Event) {
	if x.call == e.ToolCall {
		x.denies, x.succeeds = x.denies || e.DeniesCall(), x.succeeds || e.CallSucceeded()
	}
	if x.kind != kind {
		return
	}
	x.mergeTime(e.Time, e.Untimed())
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

func (x *fact) mergeTime(at time.Time, untimed bool) {
	if x.untimed && !untimed || x.untimed == untimed && at.Before(x.at) {
		x.at, x.untimed = at, untimed
	}
}

func rank(v events.Verdict) int {
	return slices.Index([]events.Verdict{events.VerdictNone, events.VerdictAllow, events.VerdictAsk, events.VerdictDeny}, v)
}

// Runs returns the sorted ids of all runs.
func (f *Fold) Runs() []string { return slices.Sorted(maps.Keys(f.runs)) }

// Subagents returns the possible run ids of a run's sub-agents. Some may have no events.
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

func (r *run) session() string {
	for _, x := range r.facts {
		if x.session != "" {
			return x.session
		}
	}
	return ""
}

// Trace returns the trace of a run with its sub-agents.
func (f *Fold) Trace(id string) Trace {
	below := make(map[string][]string) // runs of sub-agents, by parent
	for _, child := range f.Runs() {
		if parent := f.runs[child].parent(); parent != "" {
			below[parent] = append(below[parent], child)
		}
	}
	return f.trace(id, below, map[string]bool{})
}

func (f *Fold) trace(id string, below map[string][]string, above map[string]bool) Trace {
	above[id] = true
	defer delete(above, id)
	t := newTracer(f, id)
	if r := f.runs[id]; r != nil {
		t.fold(r)
	}
	for _, child := range below[id] {
		if !above[child] {
			t.trace.Children = append(t.trace.Children, f.trace(child, below, above))
		}
	}
	slices.SortStableFunc(t.trace.Children, func(a, b Trace) int { return a.Started.Compare(b.Started) })
	return t.trace
}

func (r *run) parent() string {
	for _, x := range r.facts {
		if x.parent != "" {
			return x.parent
		}
	}
	return ""
}

func byTime(a, b *fact) int { return cmp.Or(a.at.Compare(b.at), cmp.Compare(a.n, b.n)) }

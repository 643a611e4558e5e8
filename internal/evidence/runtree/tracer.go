package runtree

import (
	"cmp"
	"slices"
	"strconv"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

type tracer struct {
	all       *Fold
	trace     Trace
	steps     map[string]*Step
	prompts   []*fact // begin a step; sorted by time
	calls     map[string]*Row
	starts    map[startKey]*Row // of sub-agents, without a call
	denied    map[string]bool   // by call
	succeeded map[string]bool
	alike     map[likeness]*unanswered
	responses map[string]*fact
	end       *events.RunEnd
	paid      *events.RunEnd // the strongest end with a cost
	active    time.Time      // of the latest event that is not an end
}

func newTracer(all *Fold, id string) *tracer {
	return &tracer{
		all:   all,
		trace: Trace{Run: id, Tenant: all.Tenant, Tools: map[string]int{}, Steps: []*Step{}},
		steps: map[string]*Step{}, calls: map[string]*Row{}, starts: map[startKey]*Row{}, alike: map[likeness]*unanswered{}, denied: map[string]bool{}, succeeded: map[string]bool{}, responses: map[string]*fact{},
	}
}

// fold needs two passes, because results may arrive before their calls.
func (t *tracer) fold(r *run) {
	facts := slices.SortedStableFunc(slices.Values(r.facts), byTime)
	t.trace.countUntimed(facts)
	for _, x := range facts {
		t.identify(x)
		t.denied[x.call] = t.denied[x.call] || x.denies
		t.succeeded[x.call] = t.succeeded[x.call] || x.succeeds
		if x.kind == events.PromptSubmit && x.step != "" {
			t.prompts = append(t.prompts, x)
		}
	}
	facts = t.trace.dropRemoved(facts)
	for _, x := range facts {
		if do, ok := first[x.kind]; ok {
			do(t, x)
		}
	}
	t.endRun()
	for _, x := range facts {
		if do, ok := second[x.kind]; ok {
			do(t, x)
		}
	}
	t.trace.Events, t.trace.Sealed, t.trace.Altered, t.trace.Doubts = r.events, r.sealed, r.altered, r.doubts
	t.finish()
}

var (
	first = map[events.Kind]func(*tracer, *fact){
		events.RunStarted:        (*tracer).runStarted,
		events.RunFinished:       (*tracer).runFinished,
		events.PromptSubmit:      (*tracer).prompted,
		events.ToolBefore:        (*tracer).called,
		events.ResponseCompleted: (*tracer).responded,
		events.Error:             (*tracer).failed,
		events.CompactBefore:     (*tracer).compacted,
	}
	second = map[events.Kind]func(*tracer, *fact){
		events.StepFinished:    (*tracer).stepFinished,
		events.Approval:        (*tracer).approved,
		events.ToolResult:      (*tracer).answered,
		events.Custom:          (*tracer).undecided,
		events.SubagentStart:   (*tracer).delegated,
		events.SubagentStopped: (*tracer).delegated,
	}
)

func (t *Trace) countUntimed(facts []*fact) {
	for _, x := range facts {
		if x.untimed {
			t.Untimed++
		}
	}
	t.Timeless = t.Untimed > 0 && t.Untimed == len(facts)
}

func (t *tracer) identify(x *fact) {
	tr := &t.trace
	tr.Source = cmp.Or(tr.Source, x.source)
	tr.Agent = cmp.Or(tr.Agent, x.agent)
	tr.ParentRun = cmp.Or(tr.ParentRun, x.parent)
	tr.User = cmp.Or(tr.User, x.user)
	if x.untimed != tr.Timeless {
		return
	}
	if tr.Started.IsZero() || x.at.Before(tr.Started) {
		tr.Started = x.at
	}
	if x.at.After(tr.Ended) {
		tr.Ended = x.at
	}
	if x.kind != events.RunFinished && x.kind != events.Custom && x.at.After(t.active) {
		t.active = x.at
	}
}

func (t *tracer) stepOf(x *fact) string {
	if x.step != "" || len(t.prompts) == 0 {
		return x.step
	}
	after, _ := slices.BinarySearchFunc(t.prompts, x.at, func(p *fact, at time.Time) int {
		if p.at.After(at) {
			return 1
		}
		return -1
	})
	return t.prompts[max(0, after-1)].step
}

func (t *tracer) step(x *fact) *Step {
	id := t.stepOf(x)
	s := t.steps[id]
	if s == nil {
		s = &Step{ID: id, Status: events.StepRunning, Started: x.at, Untimed: true, Rows: []*Row{}, n: x.n}
		t.steps[id] = s
		t.trace.Steps = append(t.trace.Steps, s)
	}
	if x.untimed {
		return s
	}
	if s.Untimed || x.at.Before(s.Started) {
		s.Started, s.Untimed = x.at, false
	}
	if ms := x.at.Sub(s.Started).Milliseconds(); !s.finished && ms > s.DurationMS {
		s.DurationMS = ms
	}
	return s
}

func (t *tracer) row(x *fact, row Row) *Row {
	s := t.step(x)
	row.Kind, row.Started, row.Untimed, row.n = x.kind, x.at, x.untimed, x.n
	row.mark(x)
	s.Rows = append(s.Rows, &row)
	return &row
}

func (t *tracer) runStarted(x *fact) {
	p, _ := x.data.(started)
	t.trace.Version = cmp.Or(t.trace.Version, p.version)
	t.trace.Cwd = cmp.Or(t.trace.Cwd, p.cwd)
	t.trace.Model = cmp.Or(t.trace.Model, p.model)
	t.trace.Branch = cmp.Or(t.trace.Branch, p.branch)
}

func (t *tracer) runFinished(x *fact) {
	p, ok := x.data.(events.RunFinishedData)
	if !ok {
		return
	}
	end := &events.RunEnd{ID: x.id, Source: x.source, Time: x.at, Data: p}
	if p.Cost != nil && (t.paid == nil || end.Compare(*t.paid) > 0) {
		t.paid, t.trace.Cost = end, p.Cost
	}
	if t.end == nil || end.Compare(*t.end) > 0 {
		t.end, t.trace.RemovedAs = end, ""
	}
}

func (t *tracer) endRun() {
	if t.end == nil || t.end.GoesOn(t.active) {
		return
	}
	status := t.end.Data.Status()
	t.trace.Finished, t.trace.Success, t.trace.RunStatus = true, status == events.RunCompleted, status
}

func (t *tracer) prompted(x *fact) {
	p, _ := x.data.(plain)
	s := t.step(x)
	s.Input = cmp.Or(s.Input, p.text)
}

func (s *Step) outweighs(at time.Time, p events.StepFinishedData) bool {
	switch {
	case !s.finished || !at.Equal(s.endedAt):
		return false
	case s.Status == p.StepStatus:
		return s.Output >= p.OutputSummary
	}
	return s.Status.Stronger(p.StepStatus) == s.Status
}

func (t *tracer) stepFinished(x *fact) {
	p, ok := x.data.(events.StepFinishedData)
	if !ok {
		return
	}
	s := t.step(x)
	weaker := s.outweighs(x.at, p)
	if !weaker {
		s.Status, s.Output, s.Failure = p.StepStatus, p.OutputSummary, p.Error
	}
	s.finished, s.endedAt, s.Input = true, x.at, cmp.Or(s.Input, p.InputSummary)
	if p.DurationMS != 0 && (!weaker || s.DurationMS == 0) {
		s.DurationMS = p.DurationMS
	}
	if p.TokensUsed != nil && (!weaker || !s.counts) {
		s.Tokens, s.counts = *p.TokensUsed, true
	}
}

func (t *tracer) responded(x *fact) {
	p, ok := x.data.(response)
	if !ok {
		return
	}
	if p.model != "" && p.model != events.SyntheticModel {
		t.trace.Model = p.model
	}
	if p.tokens != nil || p.cost != nil {
		t.responses[cmp.Or(p.message, "\x00"+strconv.Itoa(x.n))] = x
	}
}

func (t *tracer) failed(x *fact) {
	p, _ := x.data.(events.ErrorData)
	var row Row
	row.failed(p)
	t.row(x, row)
}

func (r *Row) failed(p events.ErrorData) {
	r.Name, r.Detail = cmp.Or(p.Error.Class, p.ErrorType), OneLine(p.Error.Message)
	r.Status, r.Failure = events.ToolError, &p.Error
}

func (t *tracer) compacted(x *fact) {
	p, _ := x.data.(plain)
	t.row(x, Row{Name: "compaction", Detail: p.text})
}

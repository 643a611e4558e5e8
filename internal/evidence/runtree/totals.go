package runtree

import (
	"cmp"
	"maps"
	"slices"

	"github.com/hooktrail/hooktrail/pkg/events"
)

func (t *tracer) finish() {
	t.dropStarts()
	t.countResponses()
	tr := &t.trace
	slices.SortFunc(tr.Steps, func(a, b *Step) int { return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.n, b.n)) })
	var sum events.Tokens
	for _, s := range tr.Steps {
		slices.SortFunc(s.Rows, func(a, b *Row) int { return cmp.Or(a.Started.Compare(b.Started), cmp.Compare(a.n, b.n)) })
		sum = sum.Plus(s.Tokens)
		for _, row := range s.Rows {
			row.settleQuestion()
			row.NoRun = row.Run != "" && t.all.runs[row.Run] == nil
			tr.count(row)
		}
	}
	t.markDeniedResults()
	tr.endSteps()
	tr.Tokens = sum
	if t.end != nil && t.end.Data.TokensUsed != nil {
		tr.Tokens = *t.end.Data.TokensUsed
	}
}

func (t *Trace) endSteps() {
	if !t.Finished && t.RemovedAs == "" {
		return
	}
	for i, s := range t.Steps {
		switch {
		case s.finished:
		case i < len(t.Steps)-1 || !t.Finished:
			s.Status = events.StepUnknown
		default:
			s.Status = events.StepStatus(t.RunStatus) // each status of a run is one of a step
		}
	}
}

func (t *tracer) markDeniedResults() {
	for call, row := range t.calls {
		if row.DeniedResult = t.denied[call] && t.succeeded[call]; row.DeniedResult {
			t.trace.DeniedResults++
		}
	}
}

func (t *Trace) count(row *Row) {
	if row.Kind != events.ToolBefore && row.Kind != events.ToolResult {
		return
	}
	switch {
	case row.Status == events.ToolError && !row.Denied():
		t.ToolErrors++
	case row.Status == events.ToolInterrupted && !row.Denied():
		t.Interrupted++
	}
	if row.Kind != events.ToolBefore {
		return
	}
	t.ToolCalls++
	t.Tools[row.Name]++
	switch {
	case row.Denied():
		t.Denied++
	case row.Status == "":
		t.Unanswered++
	}
}

func (t *tracer) dropStarts() {
	linked := map[string]bool{}
	for _, row := range t.calls {
		linked[row.Run] = row.Run != ""
	}
	for _, s := range t.trace.Steps {
		s.Rows = slices.DeleteFunc(s.Rows, func(row *Row) bool { return row.start && linked[row.Run] })
	}
}

func (t *tracer) countResponses() {
	t.trace.Cost = paid(t.trace.Cost, t.responses)
	others := slices.ContainsFunc(t.trace.Steps, func(s *Step) bool { return s.counts })
	for _, x := range t.responses {
		others = others || !isTelemetry(x)
	}
	if others {
		maps.DeleteFunc(t.responses, func(_ string, x *fact) bool { return isTelemetry(x) })
	}
	for _, x := range slices.SortedFunc(maps.Values(t.responses), byTime) {
		s := t.steps[t.stepOf(x)]
		if s == nil {
			s = t.step(x)
		}
		if p, ok := x.data.(response); ok && !s.counts && p.tokens != nil {
			s.Tokens = s.Tokens.Plus(*p.tokens)
		}
	}
}

func paid(total *events.Cost, responses map[string]*fact) *events.Cost {
	told, others := map[string]*fact{}, map[string]*fact{}
	for key, x := range responses {
		if isTelemetry(x) {
			told[key] = x
		} else {
			others[key] = x
		}
	}
	telemetry := costOf(told)
	switch {
	case total != nil && !total.Estimated:
	case telemetry != nil && len(told) >= len(others):
		return telemetry
	case total == nil:
		return costOf(others)
	}
	return total
}

func costOf(responses map[string]*fact) *events.Cost {
	var sum events.Cost
	for _, x := range slices.SortedFunc(maps.Values(responses), byTime) { // a sum of fractions depends on their order
		if p, ok := x.data.(response); ok && p.cost != nil {
			sum.USD += p.cost.USD
			sum.Estimated = sum.Estimated || p.cost.Estimated
		}
	}
	if sum.USD == 0 {
		return nil
	}
	return &sum
}

func isTelemetry(x *fact) bool {
	p, _ := x.data.(response)
	return p.telemetry
}

func (t *Trace) dropRemoved(facts []*fact) []*fact {
	for _, x := range facts {
		if x.removed == "" {
			continue
		}
		t.Removed++
		if x.kind == events.RunFinished || t.Removed == len(facts) {
			t.RemovedAs = x.removed
		}
	}
	return slices.DeleteFunc(facts, func(x *fact) bool { return x.removed != "" })
}

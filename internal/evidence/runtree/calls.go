package runtree

import (
	"strings"

	"github.com/hooktrail/hooktrail/pkg/events"
)

func (t *tracer) called(x *fact) {
	p, _ := x.data.(call)
	if row := t.calls[x.call]; row != nil && x.call != "" {
		if rank(p.verdict) > rank(row.Verdict) {
			row.Verdict, row.Reason = p.verdict, reasonOf(p)
		}
		return
	}
	row := t.row(x, Row{Name: p.name, Detail: t.relative(p.detail), Verdict: p.verdict, Reason: reasonOf(p)})
	if x.call != "" {
		t.calls[x.call] = row
	}
}

// reasonOf returns the reason of a denial.
func reasonOf(c call) string {
	if c.verdict == events.VerdictDeny {
		return c.reason
	}
	return ""
}

// relative removes the folder of the run from the detail of a call.
func (t *tracer) relative(detail string) string {
	if t.trace.Cwd == "" {
		return detail
	}
	return strings.ReplaceAll(detail, strings.TrimSuffix(t.trace.Cwd, "/")+"/", "")
}

// approved applies the answer to a question about a call. If a hook asked and no person
// allowed the call, the call is denied and has no result. A question that a tool asks a
// person has no verdict. Its answer is the result.
func (t *tracer) approved(x *fact) {
	p, ok := x.data.(call)
	row := t.calls[x.call]
	if x.call == "" {
		row = t.unansweredCall(x, p)
	}
	if !ok || row == nil || p.verdict == "" || p.verdict == events.VerdictAllow {
		return
	}
	if p.verdict == events.VerdictDeny || row.Verdict == events.VerdictAsk {
		row.Verdict, row.Reason = events.VerdictDeny, p.reason
	}
}

// unansweredCall returns the call of a question without a call id. It is the latest
// similar call before the question that has no result.
func (t *tracer) unansweredCall(x *fact, p call) *Row {
	var latest *Row
	for _, s := range t.trace.Steps {
		for _, row := range s.Rows {
			like := row.Kind == events.ToolBefore && strings.EqualFold(row.Name, p.name) && row.Detail == t.relative(p.detail)
			if like && row.Status == "" && !row.Started.After(x.at) && (latest == nil || row.Started.After(latest.Started)) {
				latest = row
			}
		}
	}
	return latest
}

func (t *tracer) answered(x *fact) {
	p, ok := x.data.(answer)
	if !ok {
		return
	}
	row := t.calls[x.call]
	if row == nil { // a result without a call
		row = t.row(x, Row{Name: p.name})
		if x.call != "" {
			t.calls[x.call] = row
		}
	}
	row.Status, row.Failure, row.DurationMS, row.ExitCode = p.status, p.failure, p.durationMS, p.exit
	if row.DurationMS == 0 {
		row.DurationMS = max(0, x.at.Sub(row.Started).Milliseconds())
	}
	if run := t.subRun(x, p.subagent); p.subagent != "" && t.all.runs[run] != nil {
		row.Run = run
	}
}

// delegated links the run of a sub-agent to the call that started it.
func (t *tracer) delegated(x *fact) {
	p, _ := x.data.(subagent)
	row := t.calls[x.call]
	switch {
	case row != nil && x.call != "":
	case x.kind == events.SubagentStopped:
		return
	default:
		row = t.row(x, Row{Name: p.kind, Detail: p.name})
		t.starts = append(t.starts, row)
	}
	row.Run = t.subRun(x, p.id)
}

// subRun returns the run id of a sub-agent, below the session. It returns the
// sub-agent's own id if only that run has events.
func (t *tracer) subRun(x *fact, id string) string {
	below := x.session + "/" + id
	if t.all.runs[below] == nil && t.all.runs[id] != nil {
		return id
	}
	return below
}

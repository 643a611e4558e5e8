package runtree

import (
	"cmp"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/events"
)

func (t *tracer) called(x *fact) {
	p, _ := x.data.(call)
	if row := t.calls[x.call]; row != nil && x.call != "" {
		row.mark(x)
		if rank(p.verdict) > rank(row.Verdict) {
			row.Verdict, row.Reason = p.verdict, reasonOf(p)
		}
		return
	}
	row := t.row(x, Row{Name: p.name, Detail: t.relative(p.detail), Verdict: p.verdict, Reason: reasonOf(p)})
	t.addUnanswered(row)
	if x.call != "" {
		t.calls[x.call] = row
	}
}

func (r *Row) mark(x *fact) {
	r.Altered = r.Altered || x.altered
	r.Doubt = cmp.Or(r.Doubt, x.doubt)
}

func reasonOf(c call) string {
	if c.verdict == events.VerdictDeny {
		return c.reason
	}
	return ""
}

func (t *tracer) relative(detail string) string {
	if t.trace.Cwd == "" {
		return detail
	}
	return strings.ReplaceAll(detail, strings.TrimSuffix(t.trace.Cwd, "/")+"/", "")
}

// approved applies a person's answer about a call. If a hook asked and no person allowed the call,
// it counts as denied. An answer without a verdict changes nothing, because it answers a question
// of the tool.
func (t *tracer) approved(x *fact) {
	p, ok := x.data.(call)
	row := t.calls[x.call]
	if x.call == "" {
		row = t.unansweredCall(x, p)
	}
	if row != nil {
		row.mark(x)
	}
	if !ok || row == nil || p.verdict == "" || p.verdict == events.VerdictAllow {
		return
	}
	if p.verdict == events.VerdictDeny || row.Verdict == events.VerdictAsk {
		row.Verdict, row.Reason = events.VerdictDeny, p.reason
	}
}

func (t *tracer) answered(x *fact) {
	p, ok := x.data.(answer)
	row := t.calls[x.call]
	if row != nil {
		row.mark(x)
	}
	switch {
	case ok:
	case !x.succeeds:
		return
	default:
		p.status = events.ToolSuccess
	}
	if row == nil { // a result without a call
		row = t.row(x, Row{Name: p.name})
		if x.call != "" {
			t.calls[x.call] = row
		}
	}
	row.answered = true
	row.Status, row.DeniedBy, row.Failure, row.DurationMS, row.ExitCode = p.status, p.by, p.failure, p.durationMS, p.exit
	if row.DurationMS == 0 {
		row.DurationMS = max(0, x.at.Sub(row.Started).Milliseconds())
	}
	if run := t.subRun(x, p.subagent); p.subagent != "" && t.all.runs[run] != nil {
		row.Run = run
	}
}

func (t *tracer) delegated(x *fact) {
	p, _ := x.data.(subagent)
	row := t.calls[x.call]
	if row == nil || x.call == "" {
		if x.kind == events.SubagentStopped {
			return
		}
		row = t.row(x, Row{Name: p.kind, Detail: p.name, start: true})
	}
	row.Run = t.subRun(x, p.id)
}

// subRun returns the run id of a sub-agent, which is SESSION/ID, or ID if only that run has
// events.
func (t *tracer) subRun(x *fact, id string) string {
	below := x.session + "/" + id
	if t.all.runs[below] == nil && t.all.runs[id] != nil {
		return id
	}
	return below
}

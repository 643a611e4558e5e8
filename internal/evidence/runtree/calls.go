package runtree

import (
	"cmp"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/events"
)

func (t *tracer) called(x *fact) {
	p, _ := x.data.(call)
	if row := t.calls[x.call]; row != nil && x.call != "" {
		row.again(x, p, relative(p.detail, t.trace.Cwd))
		return
	}
	row := t.row(x, Row{Name: p.name, Detail: relative(p.detail, t.trace.Cwd), Verdict: p.verdict, Hook: p.hook, Reason: reasonOf(p), patched: p.patched})
	t.addUnanswered(row)
	if x.call != "" {
		t.calls[x.call] = row
	}
}

// RowOf returns the row for a single event. Callers use it if they do not wait for the other
// events of a tool call. For an event that has no row in a trace, only Kind and Started are set.
func RowOf(e events.Event) Row {
	row := Row{Kind: e.Kind(), Started: e.Time}
	var data any
	if digest, ok := digests[row.Kind]; ok {
		data = digest(e)
	}
	switch p := data.(type) {
	case call:
		row.Name, row.Detail, row.Verdict, row.Hook, row.Reason = p.name, p.detail, p.verdict, p.hook, p.reason
	case answer:
		row.Name = p.name
		row.result(&fact{at: e.Time}, p)
	case events.ErrorData:
		row.failed(p)
	}
	return row
}

func (r *Row) again(x *fact, p call, detail string) {
	r.mark(x)
	r.Name = events.ToolName(r.Name, p.name)
	if rank(p.verdict) > rank(r.Verdict) {
		r.Verdict, r.Hook, r.Reason = p.verdict, p.hook, reasonOf(p)
	}
	r.Reason = cmp.Or(r.Reason, reasonOf(p))
	if r.Detail == "" || p.patched && !r.patched {
		r.Detail, r.patched = detail, r.patched || p.patched
	}
}

func (r *Row) mark(x *fact) {
	r.Altered = r.Altered || x.altered
	r.Doubt = cmp.Or(r.Doubt, x.doubt)
}

func reasonOf(c call) string {
	if c.verdict == events.VerdictDeny || c.verdict == events.VerdictAsk {
		return c.reason
	}
	return ""
}

func relative(detail, cwd string) string {
	if cwd == "" {
		return detail
	}
	return strings.ReplaceAll(detail, strings.TrimSuffix(cwd, "/")+"/", "")
}

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
	if p.verdict == events.VerdictDeny {
		row.deny(p)
	} else if row.Verdict == events.VerdictAsk {
		row.unapproved = &p
	}
}

func (r *Row) deny(p call) { r.Verdict, r.Hook, r.Reason = events.VerdictDeny, p.hook, p.reason }

// settleQuestion denies a call without a result if no hook approved it, because an engine then runs
// no call. A result shows that a person approved the call in the agent's own dialog, or denied it.
func (r *Row) settleQuestion() {
	if r.unapproved != nil && !r.answered {
		r.deny(*r.unapproved)
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
	row.result(x, p)
	if run := t.subRun(x, p.subagent); p.subagent != "" && t.all.runs[run] != nil {
		row.Run = run
	}
}

func (r *Row) result(x *fact, p answer) {
	weaker := r.answered && r.Status.Stronger(p.status) == r.Status
	if !weaker || r.Status == p.status && r.ExitCode == nil {
		r.ExitCode = p.exit
	}
	if !weaker {
		r.Status, r.DeniedBy, r.Failure, r.DurationMS = p.status, p.by, p.failure, p.durationMS
	}
	r.answered, r.Untimed = true, r.Untimed || x.untimed
	if r.DurationMS == 0 {
		r.DurationMS = p.durationMS
	}
	if r.DurationMS == 0 && !r.Untimed {
		r.DurationMS = max(x.at.Sub(r.Started).Milliseconds(), 0)
	}
}

func (t *tracer) undecided(x *fact) {
	if row := t.calls[x.call]; row != nil && x.call != "" && x.data != nil {
		row.Undecided = true
		row.mark(x)
	}
}

func (t *tracer) delegated(x *fact) {
	p, _ := x.data.(subagent)
	run := t.subRun(x, p.id)
	row := t.calls[x.call]
	if row == nil || x.call == "" {
		if x.kind == events.SubagentStopped {
			return
		}
		key := startKey{t.stepOf(x), run}
		if row = t.starts[key]; row == nil || p.id == "" {
			row = t.row(x, Row{start: true})
			t.starts[key] = row
		}
		row.mark(x)
		row.Name, row.Detail = cmp.Or(row.Name, p.kind), cmp.Or(row.Detail, p.name)
	}
	row.Run = run
}

type startKey struct{ step, run string }

func (t *tracer) subRun(x *fact, id string) string {
	below := x.session + "/" + id
	if t.all.runs[below] == nil && t.all.runs[id] != nil {
		return id
	}
	return below
}

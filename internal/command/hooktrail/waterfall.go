package hooktrail

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/runtree"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const (
	nameWidth   = 12
	detailWidth = 40
	barWidth    = 24
	inputWidth  = 64
)

func waterfall(w io.Writer, t runtree.Trace, paint cli.Palette) {
	fmt.Fprintf(w, "%s %s\n", paint.Bold("run"), paint.Bold(shown(t.Run, maxDetail)))
	fmt.Fprintln(w, strings.Join(heading(t), " · "))
	if where := origin(t); len(where) > 0 {
		fmt.Fprintln(w, strings.Join(where, " · "))
	}
	fmt.Fprintln(w, strings.Join(traceTotals(t), " · "))
	if t.Untimed > 0 && !t.Timeless {
		fmt.Fprintln(w, paint.Dim(fmt.Sprintf("the source has no times for %s, which count in no duration", plural(t.Untimed, "event"))))
	}
	writeAltered(w, t, paint)
	writeDoubts(w, t, paint)
	if t.ParentRun != "" {
		fmt.Fprintf(w, "started by %s\n", shown(t.ParentRun, maxDetail))
	}
	p := page{w: w, tenant: t.Tenant, paint: paint, names: widestName(t), children: make(map[string]*runtree.Trace)}
	for i := range t.Children {
		p.children[t.Children[i].Run] = &t.Children[i]
	}
	for i, s := range t.Steps {
		p.writeStep(i+1, s)
		p.prompt = cmp.Or(s.Input, p.prompt)
	}
	title := "\nsub-agents that nothing tells the start of\n"
	for i := range t.Children {
		if child := p.children[t.Children[i].Run]; child != nil {
			fmt.Fprint(w, title)
			title = ""
			p.writeChild(child)
		}
	}
}

type page struct {
	w        io.Writer
	tenant   string
	paint    cli.Palette
	prompt   string                    // of the latest step that has one
	names    int                       // columns for the names of tools
	children map[string]*runtree.Trace // runs of sub-agents that are not written yet
}

type runTrace struct {
	runtree.Trace
	incomplete bool // doubts are missing
}

func (t runTrace) write(w io.Writer, paint cli.Palette) {
	writeInvalid(w, t.Integrity, t.Problems, paint)
	waterfall(w, t.Trace, paint)
}

func heading(t runtree.Trace) []string {
	engine := t.Source
	if t.Version != "" {
		engine += " " + t.Version
	}
	var parts []string
	if engine != "" {
		parts = append(parts, shown(engine, nameWidth+detailWidth))
	}
	if t.Model != "" {
		parts = append(parts, shown(t.Model, detailWidth))
	}
	state := cmp.Or(t.RemovedAs, endOf(t.RunStatus))
	if t.Sealed {
		state += ", sealed"
	}
	if t.Timeless {
		return append(parts, "time "+unknown, state)
	}
	return append(parts, t.Started.UTC().Format("2006-01-02 15:04:05 UTC"), knownDuration(t.Ended.Sub(t.Started).Milliseconds(), t.Untimed > 0), state)
}

func endOf(status events.RunStatus) string {
	switch status {
	case "":
		return "open"
	case events.RunCompleted, events.RunFailed, events.RunInterrupted:
		return string(status)
	case events.RunUnknown:
	}
	return "state unknown"
}

func traceTotals(t runtree.Trace) []string {
	calls := plural(t.ToolCalls, "tool call")
	if t.ToolErrors > 0 {
		calls += fmt.Sprintf(", %d failed", t.ToolErrors)
	}
	if t.Denied > 0 {
		calls += fmt.Sprintf(", %d denied", t.Denied)
	}
	if t.DeniedResults > 0 {
		calls += fmt.Sprintf(", %d of them with a result", t.DeniedResults)
	}
	if t.Interrupted > 0 {
		calls += fmt.Sprintf(", %d interrupted", t.Interrupted)
	}
	if t.Unanswered > 0 {
		calls += fmt.Sprintf(", %d without result", t.Unanswered)
	}
	all := plural(t.Events, "event")
	if t.Removed > 0 {
		all += fmt.Sprintf(", %s erased or pruned", count(int64(t.Removed)))
	}
	return []string{plural(len(t.Steps), "step"), calls, tokens(t.Tokens), cost(t.Cost), all}
}

func cost(c *events.Cost) string {
	if c == nil {
		return "cost " + unknown
	}
	text := fmt.Sprintf("cost $%.2f", c.USD)
	if c.USD < 0.1 {
		text = fmt.Sprintf("cost $%.4f", c.USD)
	}
	if c.Estimated {
		text += " estimated"
		if c.Prices != "" {
			text += " with prices of " + shown(c.Prices, nameWidth)
		}
	}
	return text
}

func tokens(u events.Tokens) string {
	if u == (events.Tokens{}) {
		return "tokens " + unknown
	}
	s := fmt.Sprintf("tokens %s in, %s out", count(u.Input), count(u.Output))
	if cached := u.CacheRead + u.CacheCreation; cached > 0 {
		s += fmt.Sprintf(", %s cached", count(cached))
	}
	return s
}

func (p page) writeStep(n int, s *runtree.Step) {
	fmt.Fprintf(p.w, "\n%2d  %s %-9s %7s  %s\n", n, stepMark(s.Status, p.paint), s.Status, knownDuration(s.DurationMS, s.Untimed),
		p.paint.Bold(shown(p.title(s), inputWidth)))
	if s.Failure != nil {
		fmt.Fprintf(p.w, "    %s\n", p.paint.Bad(shown(s.Failure.Message, nameWidth+detailWidth+barWidth)))
	}
	for _, r := range s.Rows {
		p.writeRow(r, s)
	}
	if used := s.Tokens; used != (events.Tokens{}) {
		fmt.Fprintf(p.w, "    %s\n", p.paint.Dim(tokens(used)))
	}
}

func (p page) writeRow(r *runtree.Row, s *runtree.Step) {
	fmt.Fprintf(p.w, "    %s %s %s %7s\n", rowMark(r, p.paint), p.nameAndDetail(r), rowBar(r, s, p.paint), rowDuration(r))
	p.writeNotes("      ", r)
	if child := p.children[r.Run]; child != nil {
		p.writeChild(child)
	} else if r.NoRun {
		fmt.Fprintf(p.w, "      %s\n", p.paint.Dim("↳ sub-agent "+shown(r.Run, maxDetail)+", whose events are not in the ledger"))
	} else if r.Run != "" {
		p.writeLink(r.Run)
	}
}

func (p page) writeLink(run string) {
	fmt.Fprintf(p.w, "      %s\n", p.paint.Dim("↳ hooktrail run show "+shown(termtext.ShellQuote(run), maxDetail)+tenantFlag(p.tenant)))
}

func (p page) writeChild(t *runtree.Trace) {
	delete(p.children, t.Run)
	p.writeLink(t.Run)
	for _, s := range t.Steps {
		for _, r := range s.Rows {
			fmt.Fprintf(p.w, "      %s %s %7s\n", rowMark(r, p.paint), p.nameAndDetail(r), rowDuration(r))
			p.writeNotes("        ", r)
		}
	}
}

func knownDuration(ms int64, untimed bool) string {
	if untimed && ms == 0 {
		return unknown
	}
	return duration(ms)
}

func rowDuration(r *runtree.Row) string {
	switch {
	case r.Kind != events.ToolBefore && r.Kind != events.ToolResult:
		return ""
	case r.Status == "" && r.Verdict == events.VerdictDeny, r.Status == events.ToolDenied:
		return "denied"
	case r.Status == events.ToolInterrupted:
		return "stopped"
	case r.Status == "":
		return unknown
	}
	return knownDuration(r.DurationMS, r.Untimed)
}

func rowBar(r *runtree.Row, s *runtree.Step, paint cli.Palette) string {
	whole := time.Duration(s.DurationMS) * time.Millisecond
	if r.Untimed && !s.Untimed {
		whole = 0
	}
	bar := timeBar(r.Started.Sub(s.Started), time.Duration(r.DurationMS)*time.Millisecond, whole)
	if r.Status == events.ToolError || r.Altered || r.DeniedResult || r.Doubt != "" {
		return paint.Bad(bar)
	}
	return paint.Good(bar)
}

func timeBar(start, length, whole time.Duration) string {
	if whole <= 0 {
		return strings.Repeat("·", barWidth)
	}
	column := func(d time.Duration) int {
		return int(min(1, max(0, float64(d)/float64(whole))) * barWidth)
	}
	from := min(column(start), barWidth-1)
	to := max(min(column(start+length), barWidth), from+1)
	return strings.Repeat("·", from) + strings.Repeat("█", to-from) + strings.Repeat("·", barWidth-to)
}

func stepMark(status events.StepStatus, paint cli.Palette) string {
	switch status {
	case events.StepCompleted:
		return paint.Good("✓")
	case events.StepFailed:
		return paint.Bad("✗")
	case events.StepSkipped:
		return paint.Dim("–")
	case events.StepPending, events.StepRunning:
		return paint.Warn("…")
	case events.StepInterrupted:
		return paint.Warn("■")
	case events.StepUnknown:
		return paint.Warn("?")
	}
	return " "
}

func rowMark(r *runtree.Row, paint cli.Palette) string {
	if r.Altered || r.DeniedResult || r.Doubt != "" {
		return paint.Bad("!")
	}
	switch r.Status {
	case events.ToolSuccess:
		return paint.Good("✓")
	case events.ToolError, events.ToolDenied:
		return paint.Bad("✗")
	case events.ToolInterrupted:
		return paint.Warn("■")
	}
	if r.Verdict == events.VerdictDeny {
		return paint.Bad("✗")
	}
	if r.Kind == events.ToolBefore {
		return paint.Warn("?")
	}
	return paint.Dim("•")
}

func shown(s string, width int) string {
	return runtree.Clip(termtext.Printable(runtree.OneLine(s)), width)
}

func tenantFlag(tenant string) string {
	if tenant == "default" {
		return ""
	}
	return " --tenant " + termtext.ShellQuote(tenant)
}

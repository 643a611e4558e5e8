package hooktrail

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// Fired is the output of run show --points --json. Later versions keep its fields.
type Fired struct {
	Run    string        `json:"run"`
	Tenant string        `json:"tenant"`
	Points []*FiredPoint `json:"points"` // in the order of hooks.Points
	Never  []events.Kind `json:"never"`

	Integrity string   `json:"integrity,omitempty"` // of the ledger, empty if it was not verified
	Problems  []string `json:"problems,omitempty"`  // the first problems that make the ledger INVALID
}

// FiredPoint counts events, verdicts and hooks at one hook point of a run.
type FiredPoint struct {
	Point      events.Kind  `json:"point"`
	Class      hooks.Class  `json:"class"`
	Fired      int          `json:"fired"`
	Denied     int          `json:"denied"`
	Asked      int          `json:"asked"`
	Executions int          `json:"executions"` // of hooks, including asynchronous ones
	Failed     int          `json:"failed"`
	Hooks      []*FiredHook `json:"hooks"` // by name
}

// FiredHook counts executions and results of one hook at one hook point.
type FiredHook struct {
	Hook       string         `json:"hook"`
	Name       string         `json:"name,omitempty"`
	Executions int            `json:"executions"`
	Failed     int            `json:"failed"`
	TimedOut   int            `json:"timed_out"`
	Late       int            `json:"late"` // timed out and ended later
	Denied     int            `json:"denied"`
	Modified   int            `json:"modified"`
	Errors     map[string]int `json:"errors,omitempty"` // failures by reason
}

func readFired(ctx context.Context, r *ledger.Reader, name, dataDir string, always bool) (Fired, error) {
	run, err := findRun(ctx, r, name)
	if err != nil {
		return Fired{}, err
	}
	d, err := readDoubts(ctx, r, dataDir, always)
	if err != nil {
		return Fired{}, err
	}
	c := newPointCounter()
	err = eachEvent(ctx, r, run, c.add)
	f := c.result(r.Tenant(), run)
	f.Integrity, f.Problems = string(d.integrity), d.problems
	return f, err
}

type pointCounter struct {
	points map[events.Kind]*FiredPoint
	hooks  map[events.Kind]map[string]*FiredHook
}

func newPointCounter() *pointCounter {
	c := &pointCounter{points: map[events.Kind]*FiredPoint{}, hooks: map[events.Kind]map[string]*FiredHook{}}
	for _, p := range hooks.Points() {
		c.points[p.Kind] = &FiredPoint{Point: p.Kind, Class: p.Class, Hooks: []*FiredHook{}}
		c.hooks[p.Kind] = map[string]*FiredHook{}
	}
	return c
}

func (c *pointCounter) add(e events.Event) {
	if e.Kind() == events.HookExecuted {
		if data, err := events.Payload[events.HookExecutedData](e); err == nil {
			c.executed(data.Point, data.Execution, data.Late)
		}
		return
	}
	p := c.points[e.Kind()]
	if p == nil {
		return
	}
	p.Fired++
	said, err := events.Payload[events.Outcome](e)
	if err != nil {
		said.Executions = nil
	}
	switch said.Verdict {
	case hooks.Deny:
		p.Denied++
	case hooks.Ask:
		p.Asked++
	case hooks.Allow, hooks.None:
	}
	for _, x := range said.Executions {
		c.executed(e.Kind(), x, false)
	}
}

func (c *pointCounter) executed(point events.Kind, x hooks.Execution, late bool) {
	p := c.points[point]
	if p == nil {
		return
	}
	h := c.hooks[point][x.Hook]
	if h == nil {
		h = &FiredHook{Hook: x.Hook, Name: x.Name}
		c.hooks[point][x.Hook] = h
		p.Hooks = append(p.Hooks, h)
	}
	if late {
		h.Late++
		return
	}
	p.Executions++
	h.Executions++
	if x.Verdict == hooks.Deny {
		h.Denied++
	}
	if x.Modified {
		h.Modified++
	}
	if x.Success {
		return
	}
	p.Failed++
	h.Failed++
	if x.TimedOut {
		h.TimedOut++
	}
	if h.Errors == nil {
		h.Errors = map[string]int{}
	}
	h.Errors[x.Error]++
}

func (c *pointCounter) result(tenant, run string) Fired {
	f := Fired{Run: run, Tenant: tenant, Points: []*FiredPoint{}, Never: []events.Kind{}}
	for _, p := range hooks.Points() {
		fired := c.points[p.Kind]
		if fired.Fired+fired.Executions == 0 {
			f.Never = append(f.Never, p.Kind)
			continue
		}
		slices.SortStableFunc(fired.Hooks, func(a, b *FiredHook) int {
			return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Hook, b.Hook))
		})
		f.Points = append(f.Points, fired)
	}
	return f
}

func (f Fired) write(out io.Writer, paint cli.Palette) {
	writeInvalid(out, f.Integrity, f.Problems, paint)
	fmt.Fprintf(out, "%s %s\n", paint.Bold("run"), paint.Bold(shown(f.Run, maxDetail)))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "POINT\tFIRED\tDENIED\tASKED\tHOOKS RAN\tFAILED")
	for _, p := range f.Points {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n", p.Point, count(int64(p.Fired)), orDash(p.Denied), orDash(p.Asked), orDash(p.Executions), orDash(p.Failed))
	}
	w.Flush()
	writeFailures(out, f, paint)
	if len(f.Never) > 0 {
		names := make([]string, len(f.Never))
		for i, kind := range f.Never {
			names[i] = string(kind)
		}
		fmt.Fprintf(out, "\nnever fired: %s\n", strings.Join(names, ", "))
	}
}

func writeFailures(out io.Writer, f Fired, paint cli.Palette) {
	var lines []string
	for _, p := range f.Points {
		for _, h := range p.Hooks {
			name := h.Hook
			if h.Name != "" {
				name = h.Name + " (" + h.Hook + ")"
			}
			for _, why := range slices.Sorted(maps.Keys(h.Errors)) {
				lines = append(lines, fmt.Sprintf("%s\t%s\t%d of %d\t%s", p.Point, shown(name, detailWidth), h.Errors[why], h.Executions, shown(why, maxDetail)))
			}
		}
	}
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(out, "\n%s\n", paint.Bad("failed"))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, strings.Join(lines, "\n"))
	w.Flush()
}

func orDash(n int) string {
	if n == 0 {
		return "–"
	}
	return count(int64(n))
}

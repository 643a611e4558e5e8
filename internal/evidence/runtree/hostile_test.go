package runtree_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hooktrail/hooktrail/internal/evidence/runtree"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// A question without a call id is about the latest earlier call with the same tool and arguments
// and without a result.
func TestFold_QuestionsWithoutID(t *testing.T) {
	type made struct {
		event  events.Event
		tool   string
		denied bool
		done   bool
	}
	rapid.Check(t, func(rt *rapid.T) {
		l := newTimeline(t)
		var calls []*made
		args := func() json.RawMessage {
			return json.RawMessage(fmt.Sprintf(`{"command":"c%d"}`, rapid.IntRange(0, 1).Draw(rt, "command")))
		}
		for i := range rapid.IntRange(1, 30).Draw(rt, "events") {
			if rapid.Bool().Draw(rt, "same time") {
				l.now = l.now.Add(-time.Second)
			}
			tool := rapid.SampledFrom([]string{"Bash", "bash", "ſh", "SH", "\u212a"}).Draw(rt, "tool")
			switch rapid.IntRange(0, 2).Draw(rt, "kind") {
			case 0:
				e := l.add(events.ToolBefore, "s", fmt.Sprint(i), events.ToolBeforeData{Tool: tool, Args: args()})
				calls = append(calls, &made{event: *e, tool: tool})
			case 1:
				l.add(events.ToolResult, "s", fmt.Sprint(rapid.IntRange(0, i).Draw(rt, "call")), events.ToolResultData{Status: events.ToolError})
			case 2:
				l.add(events.Approval, "s", "", events.ApprovalData{Tool: tool, Args: args(), Outcome: verdict(events.VerdictDeny)})
			}
		}
		var rows []*runtree.Row
		for _, s := range l.trace().Steps {
			rows = append(rows, s.Rows...)
		}
		rows = slices.DeleteFunc(rows, func(r *runtree.Row) bool { return r.Kind != events.ToolBefore })
		for _, e := range l.all {
			switch e.Kind() {
			case events.ToolResult:
				for _, c := range calls {
					c.done = c.done || c.event.ToolCall == e.ToolCall
				}
			case events.Approval:
				question, err := events.Payload[events.ApprovalData](e)
				if err != nil {
					rt.Fatal(err)
				}
				var latest *made
				for _, c := range calls {
					alike := strings.EqualFold(c.tool, question.Tool) && strings.Contains(string(c.event.Data), string(question.Args))
					if alike && !c.done && !c.event.Time.After(e.Time) && (latest == nil || c.event.Time.After(latest.event.Time)) {
						latest = c
					}
				}
				if latest != nil {
					latest.denied = true
				}
			}
		}
		for i, c := range calls {
			if rows[i].Denied() != c.denied {
				rt.Errorf("call %d at %v is denied: %v, want %v", i, c.event.Time, rows[i].Denied(), c.denied)
			}
		}
	})
}

// Each run is below its parent once, and never below itself.
func TestFold_RunsBelowTheirParents(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := newTimeline(t)
		parents := make(map[string]string)
		for i := 1; i <= rapid.IntRange(1, 8).Draw(rt, "runs"); i++ {
			run := fmt.Sprint("r", i)
			if up := rapid.IntRange(0, 8).Draw(rt, "parent"); up > 0 {
				parents[run] = fmt.Sprint("r", up)
			}
			e := l.add(events.RunStarted, "", "", events.RunStartedData{})
			e.Run, e.ParentRun = run, parents[run]
		}
		var below func(run string, above []string) (list []string)
		below = func(run string, above []string) (list []string) {
			above = append(above, run)
			for i := 1; i <= 8; i++ {
				if child := fmt.Sprint("r", i); parents[child] == run && !slices.Contains(above, child) {
					list = append(list, child+" of "+run)
					list = append(list, below(child, above)...)
				}
			}
			return list
		}
		want := append([]string{"r1 of " + parents["r1"]}, below("r1", nil)...)
		var got []string
		for one := range l.trace().All() {
			got = append(got, one.Run+" of "+one.ParentRun)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Errorf("(-want +got):\n%s", diff)
		}
	})
}

// A client of the tenant can add any number of events to a run. Each of them costs the same.
func BenchmarkHostile(b *testing.B) {
	for _, bb := range []struct {
		name string
		fill func(l *timeline, n int)
	}{
		{"Subagents", func(l *timeline, n int) {
			for i := range n / 2 {
				l.add(events.SubagentStart, "s", "", events.SubagentStartData{Subagent: fmt.Sprint("a", i)})
				e := l.add(events.Custom, "", "", events.CustomData{Name: "x"})
				e.Run, e.ParentRun = fmt.Sprint("r1/a", i), "r1"
			}
		}},
		{"Questions", func(l *timeline, n int) {
			l.add(events.RunStarted, "", "", events.RunStartedData{Cwd: "/w"})
			for i := range n / 4 {
				l.add(events.ToolBefore, "s", fmt.Sprint(i), events.ToolBeforeData{Tool: "Bash", Args: json.RawMessage(`{"command":"/w/x"}`)})
			}
			for i := range n / 4 {
				l.add(events.ToolResult, "s", fmt.Sprint(i), events.ToolResultData{Tool: "Bash", Status: events.ToolError})
			}
			for range n / 2 {
				l.add(events.Approval, "s", "", events.ApprovalData{Tool: "Bash", Args: json.RawMessage(`{"command":"/w/x"}`)})
			}
		}},
	} {
		for _, n := range []int{4_000, 32_000} {
			b.Run(fmt.Sprintf("%s/%d", bb.name, n), func(b *testing.B) {
				l := newTimeline(b)
				bb.fill(l, n)
				fold := runtree.Fold{Tenant: "acme"}
				for _, e := range l.all {
					fold.Add(e)
				}
				for b.Loop() {
					fold.Trace("r1")
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/event")
			})
		}
	}
}

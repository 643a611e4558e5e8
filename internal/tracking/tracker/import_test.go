package tracker

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/tracking/rules/rulestest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// session returns an old session that begins at the given second. It has two failures, one of which
// recovers in its grace period.
func session(tb testing.TB, run string, at int) []events.Event {
	tb.Helper()
	failed := func(at int, step, text string) events.Event {
		e := rulestest.At(tb, "acme", run, at, events.StepFinished, events.StepFinishedData{
			AgentRole: "CODER", StepStatus: events.StepFailed, Error: &events.Failure{Message: text + strings.Repeat("x", at/100)},
		})
		e.Step = step
		return e
	}
	list := []events.Event{
		failed(at, "s1", "passing "),
		rulestest.StepAt(tb, "acme", run, at+10, "s1", events.StepCompleted, ""),
		failed(at+20, "s2", "lasting "),
		rulestest.At(tb, "acme", run, at+100, events.RunFinished, events.RunFinishedData{Success: false}),
	}
	for n := range list {
		list[n].RunType = "REVIEW"
	}
	return list
}

// Old sessions give the same issues whether they are imported in turn or at once. Seals, gaps and
// accesses have current times and must not move the clock.
func TestRun_ImportsOneAfterTheOther(t *testing.T) {
	outcome := func(imports ...[]events.Event) (list []string) {
		p := newPipeline(t)
		for n, i := range imports {
			p.Publish(fmt.Sprintf("import%d", n), i...)
			p.mustDrain()
		}
		p.Publish("later", rulestest.At(t, "acme", "late", 3600, events.ToolBefore, events.ToolBeforeData{Tool: "Bash"}))
		p.mustDrain()
		if n := len(p.Stored(events.RunSealed)); n == 0 {
			t.Fatal("nothing was sealed")
		}
		all, err := List(t.Context(), p.DataDir, "acme")
		if err != nil {
			t.Fatal(err)
		}
		for _, i := range all {
			list = append(list, fmt.Sprint(i.ID, i.Kind, i.Status, i.Title))
		}
		slices.Sort(list)
		return list
	}
	first := slices.Concat(session(t, "r1", 0), session(t, "r2", 200), session(t, "r3", 400))
	second := slices.Concat(session(t, "r4", 600), session(t, "r5", 800))
	at := outcome(slices.Concat(first, second))
	after := outcome(first, second)
	if !slices.Equal(at, after) || len(at) == 0 {
		t.Errorf("at once:\n%v\none after the other:\n%v", at, after)
	}
}

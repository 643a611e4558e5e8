package runtree_test

import (
	"encoding/json"
	"testing"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// A row says that a hook command got no decision about its call, whichever record came first.
func TestTrace_Undecided(t *testing.T) {
	for _, reportFirst := range []bool{false, true} {
		l := newTimeline(t)
		report := func() {
			l.add(events.Custom, "s", "c1", nil).Data = json.RawMessage(`{"name":"hook.problem","problems":["x"],"undecided":true}`)
		}
		if reportFirst {
			report()
		}
		l.add(events.ToolBefore, "s", "c1", events.ToolBeforeData{Tool: "Bash"})
		l.add(events.ToolBefore, "s", "c2", events.ToolBeforeData{Tool: "Bash"})
		if !reportFirst {
			report()
		}
		l.add(events.Custom, "s", "c2", nil).Data = json.RawMessage(`{"name":"hook.problem","problems":["x"]}`)
		l.add(events.Custom, "s", "c2", nil).Data = json.RawMessage(`{"name":"other","undecided":true}`)
		l.add(events.Custom, "s", "", nil).Data = json.RawMessage(`{"name":"hook.problem","undecided":true}`)
		trace := l.trace()
		if len(trace.Steps) != 1 || len(trace.Steps[0].Rows) != 2 {
			t.Fatalf("got %+v", trace)
		}
		for i, row := range trace.Steps[0].Rows {
			if row.Undecided != (i == 0) {
				t.Errorf("row %d: %+v", i, row)
			}
		}
	}
}

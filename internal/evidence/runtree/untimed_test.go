package runtree_test

import (
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/runtree"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Times that the source does not state count in no duration, whichever copy of an event came first.
func TestTrace_Untimed(t *testing.T) {
	invented := events.Common{Untimed: true}
	l := newTimeline(t)
	begin := l.now.Add(time.Second)
	l.add(events.PromptSubmit, "s", "", events.PromptSubmitData{Prompt: "p"})
	l.add(events.ToolBefore, "s", "timed", events.ToolBeforeData{Tool: "Bash"})
	l.add(events.ToolResult, "s", "timed", events.ToolResultData{Status: events.ToolSuccess})
	l.add(events.ToolBefore, "s", "half", events.ToolBeforeData{Tool: "Bash"})
	end := l.now
	l.now = l.now.AddDate(0, 8, 0)
	l.add(events.ToolResult, "s", "half", events.ToolResultData{Status: events.ToolSuccess, Common: invented})
	l.add(events.ToolBefore, "s", "none", events.ToolBeforeData{Tool: "Bash", Common: invented})
	l.add(events.ToolResult, "s", "none", events.ToolResultData{Status: events.ToolSuccess, DurationMS: 7, Common: invented})
	l.add(events.ToolBefore, "later", "", events.ToolBeforeData{Tool: "Bash", Common: invented})
	again := *l.add(events.ToolBefore, "s", "half", events.ToolBeforeData{Tool: "Bash", Common: invented})
	again.ID = l.all[3].ID
	l.all[8] = again
	for range 2 {
		got := l.trace()
		if !got.Started.Equal(begin) || !got.Ended.Equal(end) || got.Untimed != 4 || got.Timeless || len(got.Steps) != 2 {
			t.Fatalf("got a run from %v to %v with %d events without a time", got.Started, got.Ended, got.Untimed)
		}
		rows := map[int]runtree.Row{}
		for i, row := range got.Steps[0].Rows {
			rows[i] = *row
		}
		if s := got.Steps[0]; s.Untimed || s.DurationMS != 3000 || len(rows) != 3 {
			t.Errorf("got a step of %d ms with %d rows", s.DurationMS, len(rows))
		}
		for i, want := range []struct {
			untimed bool
			ms      int64
		}{{false, 1000}, {true, 0}, {true, 7}} {
			if rows[i].Untimed != want.untimed || rows[i].DurationMS != want.ms {
				t.Errorf("got row %d with %d ms, untimed %t", i, rows[i].DurationMS, rows[i].Untimed)
			}
		}
		if s := got.Steps[1]; !s.Untimed || !s.Rows[0].Untimed || s.DurationMS != 0 {
			t.Errorf("got a step of %d ms, untimed %t", s.DurationMS, s.Untimed)
		}
		l.all[3], l.all[8] = l.all[8], l.all[3]
	}
}

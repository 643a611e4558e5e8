package runtree_test

import (
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// No form of a payload hides a denial or a success from run show.
//
//guarantee:one-reading
func TestFold_FormsOfPayloads(t *testing.T) {
	for _, form := range ledgertest.Denials() {
		l := newTimeline(t)
		l.add(events.ToolBefore, "s", "c", nil).Data = []byte(form.Data)
		l.add(events.ToolResult, "s", "c", events.ToolResultData{Status: events.ToolError})
		if got := l.trace(); got.Denied != 1 {
			t.Errorf("%s: %d denied, %d errors", form.Data, got.Denied, got.ToolErrors)
		}
	}
	for _, form := range ledgertest.Successes() {
		l := newTimeline(t)
		l.add(events.ToolBefore, "s", "c", events.ToolBeforeData{Tool: "Bash"})
		l.add(events.ToolResult, "s", "c", nil).Data = []byte(form.Data)
		if steps := l.trace().Steps; len(steps) != 1 || len(steps[0].Rows) != 1 || steps[0].Rows[0].Status != events.ToolSuccess {
			t.Errorf("%s: %+v", form.Data, steps)
		}
	}
}

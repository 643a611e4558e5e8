package runtree_test

import (
	"testing"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// A hook asks about a call. No hook answers the question, but the call has a result, so a person
// has answered it. The question can lack the id of the call, and its event can follow the result.
func TestFold_ApprovedByPerson(t *testing.T) {
	asked := events.ToolBeforeData{Tool: "Bash", Outcome: verdict(events.VerdictAsk)}
	for status, want := range map[events.ToolStatus]int{events.ToolSuccess: 0, events.ToolError: 0, events.ToolDenied: 1} {
		for _, silent := range []events.Verdict{events.VerdictNone, events.VerdictAsk} {
			question := events.ApprovalData{Tool: "Bash", Outcome: verdict(silent)}
			l := newTimeline(t)
			l.add(events.ToolBefore, "s", "c1", asked)
			l.add(events.Approval, "s", "", question)
			l.add(events.ToolResult, "s", "c1", events.ToolResultData{Tool: "Bash", Status: status})
			l.add(events.ToolBefore, "s", "c2", asked)
			l.add(events.ToolResult, "s", "c2", events.ToolResultData{Tool: "Bash", Status: status})
			l.add(events.Approval, "s", "c2", question)
			if got := l.trace(); got.Denied != 2*want {
				t.Errorf("%s after %s: %d denied, want %d", status, silent, got.Denied, 2*want)
			}
		}
	}
}

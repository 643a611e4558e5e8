package runtree_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Costs of a client cannot make a trace that JSON cannot express.
func TestTrace_CostIsJSON(t *testing.T) {
	l := newTimeline(t)
	for _, id := range []string{"a", "b"} {
		l.add(events.ResponseCompleted, "s", "", events.ResponseCompletedData{Message: id, Cost: &events.Cost{USD: math.MaxFloat64}})
	}
	if _, err := json.Marshal(l.trace()); err != nil {
		t.Error(err)
	}
}

// Token counts of a client do not wrap, and a negative count is none.
func TestTrace_TokensOverflow(t *testing.T) {
	l := newTimeline(t)
	for _, id := range []string{"a", "b"} {
		l.add(events.ResponseCompleted, "s", "", events.ResponseCompletedData{Message: id, TokensUsed: &events.Tokens{Input: math.MaxInt64, Output: -5}})
	}
	if got := l.trace(); got.Tokens.Input < 0 || got.Tokens.Output < 0 {
		t.Errorf("%+v", got.Tokens)
	}
}

// "The case of letters does not matter" (docs/events.md), also for the status of a result, and a
// status that is none of the list is unknown.
func TestTrace_CaseOfStatus(t *testing.T) {
	for status, want := range map[string]struct{ errors, denied, alarms int }{
		"ERROR": {1, 0, 0}, "Denied": {0, 1, 0}, "Success": {0, 0, 1},
	} {
		l := newTimeline(t)
		l.add(events.ToolBefore, "s", "c", events.ToolBeforeData{Tool: "Bash"})
		l.add(events.ToolResult, "s", "c", nil).Data = []byte(`{"status":"` + status + `"}`)
		l.add(events.ToolBefore, "s", "d", events.ToolBeforeData{Tool: "Bash", Outcome: verdict(events.VerdictDeny)})
		if status == "Success" {
			l.add(events.ToolResult, "s", "d", nil).Data = []byte(`{"status":"` + status + `"}`)
		}
		got := l.trace()
		if got.ToolErrors != want.errors || got.Denied != want.denied+1 || got.DeniedResults != want.alarms {
			t.Errorf("%s: %d errors, %d denied, %d alarms", status, got.ToolErrors, got.Denied, got.DeniedResults)
		}
	}
}

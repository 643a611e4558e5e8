package rules_test

import (
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// A failing report in its grace period must not change the items of a later report.
func TestGrace_WithdrawsNothingOfALaterReport(t *testing.T) {
	h := newHistory(t, "RESOLVE").start(nil).step("s1", events.StepFailed, "", nil).
		step("s1", events.StepCompleted, "TODO: write the docs", nil).end(true, nil)
	s, _ := fold(t, h.list)
	for _, i := range s.Issues() {
		if i.Kind == rules.Followup && i.Status != rules.Open {
			t.Errorf("follow-up %q is %s: %s", i.Title, i.Status, i.Reason)
		}
	}
}

// The work that a failing step left undone waits for the end of its grace period.
func TestGrace_KeepsWorkLeftUndone(t *testing.T) {
	h := newHistory(t, "REVIEW").
		step("s1", events.StepFailed, "", map[string]any{"partial_success": true, "remaining": []any{"merge b.go"}})
	s := rules.NewState(nil)
	if d, err := s.Apply(h.list[0], rules.DefaultConfig()); err != nil || len(d) != 0 || len(s.Issues()) != 0 {
		t.Fatalf("in the grace period: got %d decisions, %d issues, error %v", len(d), len(s.Issues()), err)
	}
	tick := events.Event{ID: "t", Source: "/t", Type: events.Custom.Type(), Tenant: "acme", Time: h.list[0].Time.Add(31 * time.Second)}
	d, err := s.Apply(tick, rules.DefaultConfig())
	if err != nil || len(d) != 1 || d[0].Event != h.list[0].ID || len(d[0].Occurs) != 2 {
		t.Fatalf("after the grace period: got %+v, error %v", d, err)
	}
	if got := kinds(s.Issues()); got[rules.Failure] != 1 || got[rules.Followup] != 1 {
		t.Errorf("got %v, want a failure and a follow-up", got)
	}
}

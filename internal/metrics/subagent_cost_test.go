package metrics

import (
	"slices"
	"testing"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// The stated cost of a run includes its sub-agents, so their estimates do not count, in any order.
func TestState_CostOfSubagents(t *testing.T) {
	ended := func(n int, name string, usd float64, estimated bool) events.Event {
		return event(t, n, events.RunFinished, events.RunFinishedData{Success: true, Cost: &events.Cost{USD: usd, Estimated: estimated}}, run(name), func(e *events.Event) {
			if name != "r1" {
				e.ParentRun = "r1"
			}
		})
	}
	estimate, sub, told, other := ended(1, "r1", 0.75, true), ended(2, "r1/a", 0.25, true), ended(3, "r1", 1, false), ended(4, "r1/b", 0.5, false)
	for name, tt := range map[string]struct {
		list            []events.Event
		told, estimated string
	}{
		"estimates":        {[]events.Event{estimate, sub}, "", "1000000"},
		"stated":           {[]events.Event{sub, told}, "1000000", ""},
		"stated parts too": {[]events.Event{sub, told, other}, "1500000", ""},
		"without a parent": {[]events.Event{sub}, "", "250000"},
	} {
		for range 2 {
			dir := t.TempDir()
			for i, e := range tt.list {
				if err := apply(t, dir, 100, messages(i+1, e)...); err != nil {
					t.Fatal(err)
				}
			}
			all := values(t, dir)
			got := [2]string{all[`cost_usd_total["acme","false"]`], all[`cost_usd_total["acme","true"]`]}
			if want := [2]string{tt.told, tt.estimated}; got != want {
				t.Errorf("%s: got %q, want %q", name, got, want)
			}
			slices.Reverse(tt.list)
		}
	}
}

package tracker

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/tracking/replay"
	"github.com/hooktrail/hooktrail/internal/tracking/rules/rulestest"
	"github.com/hooktrail/hooktrail/internal/tracking/tracker"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Issues are listed in the order of their creation, and those of one event in the order of its
// text, whatever their ids and tenants.
func TestCommands_OrderOfTheMaking(t *testing.T) {
	const left = "Follow-up: add retry to the webhook client. Out of scope: migrate the billing schema. TODO: tidy the fixtures."
	want := []string{"add retry to the webhook client", "migrate the billing schema", "tidy the fixtures"}
	tenants := []string{"acme", "beta", "zz-acme", "a"}
	var all []events.Event
	for _, tenant := range tenants {
		done := rulestest.StepAt(t, tenant, "p1", 1, "PLANNER", events.StepCompleted, left)
		done.RunType = "PLAN"
		all = append(all, done)
	}
	p := newPipeline(t)
	p.Publish("orders", all...)
	p.mustDrain()
	var mixed, again []string
	for _, tenant := range tenants {
		var list []string
		for _, i := range callJSON[[]tracker.Issue](t, p.DataDir, "list", "--tenant", tenant) {
			list = append(list, i.Title)
		}
		if diff := cmp.Diff(want, list); diff != "" {
			t.Errorf("list of %s (-want +got):\n%s", tenant, diff)
		}
		for _, title := range want {
			mixed = append(mixed, tenant+" "+title)
		}
	}
	folded := callJSON[struct{ Issues []replay.Issue }](t, t.TempDir(), "whatif", "--events", rulestest.WriteEvents(t, all...))
	for _, i := range folded.Issues {
		again = append(again, i.Tenant+" "+i.Title)
	}
	if diff := cmp.Diff(mixed, again); diff != "" {
		t.Errorf("whatif (-want +got):\n%s", diff)
	}
}

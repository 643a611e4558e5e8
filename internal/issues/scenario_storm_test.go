package issues_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/issues"
	"github.com/hooktrail/hooktrail/internal/issues/issuestest"
)

// stormRuns fail within ten minutes.
const stormRuns = 10_000

// In a storm of one cause there is one issue, in one of as many causes as runs
// there are five and a digest; another tenant gets its own within the hold.
func TestStorm(t *testing.T) {
	for _, tt := range []struct {
		name   string
		text   func(n int) string
		issues int
	}{
		{"OneCause", func(n int) string { return fmt.Sprintf("cannot reach 10.1.%d.%d: job %08x", n/250, n%250, n*7919) }, 1},
		{"AsManyCauses", func(n int) string { return "cannot load " + letters(n) }, 6},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var sc issuestest.Scenario
			for n := range stormRuns {
				at := float64(n) * 600 / stormRuns
				if n == stormRuns/2 {
					sc.Events = append(sc.Events, fails("beta", "b1", at, "disk is full"))
				}
				sc.Events = append(sc.Events, fails("acme", fmt.Sprintf("agent%d-%d", n%50, n), at, tt.text(n)))
			}
			sc.Events = append(sc.Events, issuestest.Event{ID: "tick", Tenant: "beta", Ev: "tick", T: 332})
			o := issuestest.Run(t, issuestest.Deal(t, sc), issues.DefaultConfig(), func() int { return 500 })
			acme := 0
			for _, i := range o.Issues {
				if i.Tenant == "acme" {
					acme++
					continue
				}
				if waited := i.Transitions[0].At.Sub(issuestest.Epoch.Add(300 * time.Second)); i.Kind != string(issues.Failure) || waited > 30*time.Second {
					t.Errorf("got a %s issue after %s for the other tenant", i.Kind, waited)
				}
			}
			if acme != tt.issues || len(o.Issues) != tt.issues+1 {
				t.Errorf("got %d issues, %d in all, want %d and one of another tenant", acme, len(o.Issues), tt.issues)
			}
		})
	}
}

func fails(tenant, run string, at float64, text string) issuestest.Event {
	return issuestest.Event{
		ID: tenant + "-" + run, Tenant: tenant, Run: run, T: at, Ev: "step", Type: "PLAN", Role: "PLANNER", Step: "PLANNER", Status: "failed", Err: text,
		Meta: map[string]any{"complexity": 1.0},
	}
}

// letters writes n with letters alone, which normalising an error leaves alone.
func letters(n int) string {
	b := []byte("module")
	for range 4 {
		b = append(b, byte('g'+n%20))
		n /= 20
	}
	return string(b)
}

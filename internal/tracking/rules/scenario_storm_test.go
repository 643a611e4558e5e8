package rules_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/testkit/race"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/rules/rulestest"
)

// stormRuns is the number of runs that fail within ten minutes.
var stormRuns = race.Size(10_000, 2_000)

// A storm with one cause has one issue. A storm with a cause per run has five issues and a digest.
//
//guarantee:storm
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
			var sc rulestest.Scenario
			for n := range stormRuns {
				at := float64(n) * 600 / float64(stormRuns)
				if n == stormRuns/2 {
					sc.Events = append(sc.Events, fails("beta", "b1", at, "disk is full"))
				}
				sc.Events = append(sc.Events, fails("acme", fmt.Sprintf("agent%d-%d", n%50, n), at, tt.text(n)))
			}
			sc.Events = append(sc.Events, rulestest.Event{ID: "tick", Tenant: "beta", Ev: "tick", T: 332})
			o := rulestest.Run(t, rulestest.Deal(t, sc), rules.DefaultConfig(), func() int { return 500 })
			acme := 0
			for _, i := range o.Issues {
				if i.Tenant == "acme" {
					acme++
					continue
				}
				if waited := i.Transitions[0].At.Sub(rulestest.Epoch.Add(300 * time.Second)); i.Kind != string(rules.Failure) || waited > 30*time.Second {
					t.Errorf("got a %s issue after %s for the other tenant", i.Kind, waited)
				}
			}
			if acme != tt.issues || len(o.Issues) != tt.issues+1 {
				t.Errorf("got %d issues, %d in all, want %d and one of another tenant", acme, len(o.Issues), tt.issues)
			}
		})
	}
}

func fails(tenant, run string, at float64, text string) rulestest.Event {
	return rulestest.Event{
		ID: tenant + "-" + run, Tenant: tenant, Run: run, T: at, Ev: "step", Type: "PLAN", Role: "PLANNER", Step: "PLANNER", Status: "failed", Err: text,
		Meta: map[string]any{"complexity": 1.0},
	}
}

// letters writes n without digits, which Normalise would replace.
func letters(n int) string {
	b := []byte("module")
	for range 4 {
		b = append(b, byte('g'+n%20))
		n /= 20
	}
	return string(b)
}

package rules_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/testkit/race"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/rules/rulestest"
)

// For any history, each event has one decision, repetitions and restarts change nothing, and
// failures stay within the limits.
func TestChaos(t *testing.T) {
	seeds := uint64(race.Size(15, 3))
	if testing.Short() {
		seeds = 3
	}
	for seed := range seeds {
		sc := rulestest.Chaos(seed, 250)
		list := rulestest.Deal(t, sc)
		critical, human := make(map[string]bool), make(map[string]bool)
		for _, e := range sc.Events {
			critical[e.ID], human[e.ID] = e.Meta["severity"] == "critical", e.Ev == "human"
		}
		o := rulestest.Run(t, list, rules.DefaultConfig(), nil)
		same := func(name string, other rulestest.Outcome) {
			t.Helper()
			if diff := cmp.Diff(rulestest.Canon(o, exact), rulestest.Canon(other, exact)); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", sc.Name, name, diff)
			}
		}
		same("every event twice", rulestest.Run(t, rulestest.Twice(list), rules.DefaultConfig(), nil))
		same("a restart after each event", rulestest.Run(t, list, rules.DefaultConfig(), func() int { return 1 }))
		same("three trackers", rulestest.Run(t, rulestest.Twice(list), rules.DefaultConfig(), inTurn(3)))
		withinLimits(t, sc.Name, o, critical)
		for _, i := range o.Issues {
			keepsStill(t, sc.Name, i, human)
		}
		if t.Failed() {
			return
		}
	}
}

func withinLimits(t *testing.T, name string, o rulestest.Outcome, critical map[string]bool) {
	t.Helper()
	made := make(map[string][]time.Time)
	for _, i := range o.Issues {
		if first := i.Transitions[0]; i.Kind == string(rules.Failure) && !critical[first.Event] {
			made[i.Tenant] = append(made[i.Tenant], first.At)
		}
	}
	for tenant, times := range made {
		slices.SortFunc(times, time.Time.Compare)
		for n := range times {
			for _, l := range []struct {
				most int
				in   time.Duration
			}{{5, 10 * time.Minute}, {12, time.Hour}} {
				if n >= l.most && times[n].Sub(times[n-l.most]) < l.in {
					t.Errorf("%s: more than %d failures of %s have an issue within %s", name, l.most, tenant, l.in)
				}
			}
		}
	}
}

func keepsStill(t *testing.T, name string, i rulestest.Issue, human map[string]bool) {
	t.Helper()
	for n := 1; n < len(i.Transitions); n++ {
		was, is := i.Transitions[n-1], i.Transitions[n]
		if quiet := is.At.Sub(was.At); was.To == "flapping" && quiet < 24*time.Hour && !human[is.Event] {
			t.Errorf("%s: %s goes from flapping to %s after %s by %s", name, i.ID, is.To, quiet, is.Event)
		}
	}
}

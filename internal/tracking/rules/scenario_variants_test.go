package rules_test

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/testkit/race"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/rules/rulestest"
)

var jitterSeeds = race.Size(20, 3)

var exact = rulestest.Likeness{Titles: true, Transitions: true}

// The result must not depend on repeated events, restarts, the date, tenant names, the number of
// trackers, or whether a value is an attribute or data.
func TestScenariosStayTheSame(t *testing.T) {
	for _, sc := range rulestest.Load(t) {
		t.Run(sc.Name, func(t *testing.T) {
			plain := rulestest.Deal(t, sc)
			want := outcome(t, plain, nil, exact)
			same := func(name string, got []string) {
				t.Helper()
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s: %s (-want +got):\n%s", sc.Title, name, diff)
				}
			}
			each := func() int { return 1 }
			same("every event twice", outcome(t, rulestest.Twice(plain), nil, exact))
			same("a restart after each event", outcome(t, plain, each, exact))
			same("every event twice and a restart after each", outcome(t, rulestest.Twice(plain), each, exact))
			same("another date", outcome(t, rulestest.DealFrom(t, sc, rulestest.Epoch.Add(1234567*time.Second+89*time.Millisecond)), nil, exact))
			same("three trackers", outcome(t, plain, inTurn(3), exact))
			same("types and roles as attributes alone", outcome(t, reduced(t, plain, false), nil, exact))
			same("types and roles as data alone", outcome(t, reduced(t, plain, true), nil, exact))
			got := outcome(t, renamed(plain), nil, exact)
			for n := range got {
				got[n] = strings.ReplaceAll(got[n], "zz-", "")
			}
			slices.Sort(got)
			same("other tenants", got)
		})
	}
}

func outcome(t *testing.T, list []rulestest.Delivery, batch func() int, like rulestest.Likeness) []string {
	t.Helper()
	return rulestest.Canon(rulestest.Run(t, list, rules.DefaultConfig(), batch), like)
}

// inTurn returns batches of up to seven events for trackers that take turns.
func inTurn(trackers int) func() int {
	rng := rand.New(rand.NewPCG(3, uint64(trackers)))
	return func() int { return 1 + rng.IntN(7) }
}

func renamed(list []rulestest.Delivery) []rulestest.Delivery {
	other := slices.Clone(list)
	for n := range other {
		if other[n].Event.Tenant != "" {
			other[n].Event.Tenant = "zz-" + other[n].Event.Tenant
		}
	}
	return other
}

func reduced(t *testing.T, list []rulestest.Delivery, attributes bool) []rulestest.Delivery {
	t.Helper()
	other := slices.Clone(list)
	for n := range other {
		e := &other[n].Event
		if attributes {
			e.RunType, e.AgentRole = "", ""
			continue
		}
		e.Data = without(t, e.Data, "run_type", "agent_role")
	}
	return other
}

func without(t *testing.T, data json.RawMessage, names ...string) json.RawMessage {
	t.Helper()
	if data == nil {
		return nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(data, &members); err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		delete(members, name)
	}
	out, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// jitterFloor is the minimum share of jittered histories with the same result.
const jitterFloor = 0.95

// Delays of up to 8 s rarely change issues. Titles may name another run, and intermediate statuses
// may be missing.
func TestScenariosWithJitter(t *testing.T) {
	likes := []rulestest.Likeness{{}, {Titles: true}, {Transitions: true}}
	alike, seeds, right := make([]int, len(likes)), 0, 0
	for _, sc := range rulestest.Load(t) {
		plain := rulestest.Deal(t, sc)
		as := rulestest.Run(t, plain, rules.DefaultConfig(), nil)
		var want [][]string
		for _, like := range likes {
			want = append(want, rulestest.Canon(as, like))
		}
		ok, before := len(rulestest.Judge(sc, as).Problems) == 0, alike[0]
		for seed := range uint64(jitterSeeds) {
			o := rulestest.Run(t, rulestest.Jitter(plain, 8*time.Second, seed), rules.DefaultConfig(), nil)
			seeds++
			for n, like := range likes {
				if slices.Equal(want[n], rulestest.Canon(o, like)) {
					alike[n]++
				}
			}
			if !ok || len(rulestest.Judge(sc, o).Problems) == 0 {
				right++
			}
		}
		if same := alike[0] - before; same < jitterSeeds {
			t.Logf("%s: %d of %d seeds are the same (%s)", sc.Name, same, jitterSeeds, sc.Title)
		}
	}
	rate := func(n int) float64 { return float64(n) / float64(seeds) }
	t.Logf("of %d deliveries %.4f have the same issues (with titles %.4f, with every transition %.4f), %.4f are judged alike",
		seeds, rate(alike[0]), rate(alike[1]), rate(alike[2]), rate(right))
	if rate(alike[0]) < jitterFloor || rate(right) < jitterFloor {
		t.Errorf("less than %.2f stay the same", jitterFloor)
	}
}

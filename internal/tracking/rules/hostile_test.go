package rules_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/testkit/race"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// restarted uses a new State for each event.
func restarted(tb testing.TB, list []events.Event) (memoryStore, []rules.Decision) {
	tb.Helper()
	store := make(memoryStore)
	var decisions []rules.Decision
	for _, e := range list {
		s := rules.NewState(store)
		d, err := s.Apply(e, rules.DefaultConfig())
		if err != nil {
			tb.Fatal(err)
		}
		decisions = append(decisions, d...)
		store.save(s.Changes())
	}
	s := rules.NewState(store)
	d, err := s.Release(rules.DefaultConfig())
	if err != nil {
		tb.Fatal(err)
	}
	store.save(s.Changes())
	return store, append(decisions, d...)
}

// same checks that restarts change nothing.
func same(t *testing.T, list []events.Event) memoryStore {
	t.Helper()
	s, decisions := fold(t, list)
	store, again := restarted(t, list)
	if diff := cmp.Diff(store, stored(s)); diff != "" {
		t.Errorf("state (-restarted +straight):\n%.2000s", diff)
	}
	if len(decisions) != considered(list) || len(again) != len(decisions) {
		t.Errorf("got %d decisions, and %d with restarts, on %d events", len(decisions), len(again), considered(list))
	}
	return store
}

// Runs may be their own parents, or have cyclic or deep ancestors.
func TestHostile_Parents(t *testing.T) {
	for name, parent := range map[string]func(n int) int{
		"Self":    func(n int) int { return n },
		"Pairs":   func(n int) int { return n ^ 1 },
		"Ring":    func(n int) int { return (n + 1) % 40 },
		"Chain":   func(n int) int { return n + 1 },
		"Any":     func(n int) int { return n * 7919 % 40 },
		"OneRoot": func(int) int { return 40 },
	} {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(5) {
				var list []events.Event
				for _, n := range rand.New(rand.NewPCG(seed, 1)).Perm(40) {
					at := time.Duration(len(list)) * time.Second
					e := stepAt(t, len(list), at, events.StepFailed, distinctly(n), nil)
					e.Run, e.ParentRun = fmt.Sprint("n", n), fmt.Sprint("n", parent(n))
					if n%2 == 0 {
						e.RunType = "AUTOPILOT"
					}
					end := ofRun(t, e, e.ID+" end", events.RunFinished, at+time.Hour, events.RunFinishedData{Success: n%3 > 0})
					list = append(list, e, end)
				}
				same(t, list)
			}
		})
	}
}

func TestHostile_Sizes(t *testing.T) {
	long := strings.Repeat("Follow-up: do the thing that nobody did. \n", race.Size(10<<20, 1<<20)/42)
	e := stepAt(t, 0, 0, events.StepFailed, long, map[string]any{
		"complexity": "NaN", "files": "1e999", "target": long, "work_item": long, "error_class": long, "severity": []any{"critical"},
		"remaining": long, "partial_success": "Infinity",
	})
	done := stepAt(t, 1, time.Second, events.StepCompleted, "", map[string]any{"complexity": "-Inf", "tokens": "NaN", "deferred": long})
	if err := done.SetData(events.StepFinishedData{
		AgentRole: long, StepStatus: events.StepCompleted, OutputSummary: long + "Done: " + long, TokensUsed: &events.Tokens{Input: 1 << 62, Output: 1 << 62},
	}); err != nil {
		t.Fatal(err)
	}
	list := []events.Event{e, done}
	for n := range 10_000 { // roles, targets and parents of one run
		e := stepAt(t, 10+n, time.Duration(n)*time.Millisecond, events.StepFailed, fmt.Sprintf("%x", n), map[string]any{"target": fmt.Sprint("t", n)})
		e.Run, e.Step, e.ParentRun = "many", fmt.Sprint("s", n), fmt.Sprint("p", n)
		if err := e.SetData(events.StepFinishedData{AgentRole: fmt.Sprint("ROLE", n), StepStatus: []events.StepStatus{events.StepFailed, events.StepCompleted}[n%2]}); err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	from := time.Now()
	s, _ := fold(t, list)
	t.Logf("folded in %s", time.Since(from))
	for key, value := range stored(s) {
		if limit := 64 << 10; len(value) > limit || len(key.ID) > 1<<10 {
			t.Errorf("record %s %.60s has %d bytes", key.Kind, key.ID, len(value))
		}
	}
	if n := len(s.Issues()); n > 20 {
		t.Errorf("got %d issues", n)
	}
}

func TestHostile_EditsOfWhatThereIsNot(t *testing.T) {
	var list []events.Event
	for n := range 400 {
		e := events.Event{ID: fmt.Sprint("x", n), Source: "/p", Type: events.IssueEdited.Type(), Tenant: "acme", Time: epoch}
		d := events.IssueEditedData{Action: []string{"closed", "retitled", "not_planned", "reopened", "assigned", "eaten"}[n%6], Value: strings.Repeat("v", 1<<16)}
		switch n % 4 {
		case 0:
			d.Issue = strings.Repeat("i", n*100)
		case 1:
			d.Event = "the one"
		case 2:
			d.Event = fmt.Sprint("none", n)
		default:
			d.Event = strings.Repeat("e", 1<<16) + fmt.Sprint(n)
		}
		if err := e.SetData(d); err != nil {
			t.Fatal(err)
		}
		list = append(list, e)
	}
	store := same(t, list)
	bytes := 0
	for key, value := range store {
		bytes += len(key.ID) + len(value)
	}
	if bytes > 4<<20 {
		t.Errorf("400 edits keep %d bytes", bytes)
	}
}

// Events with one id but different sources are different events.
func TestHostile_IdsAndOrder(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 2))
		var list []events.Event
		seen := make(map[string]bool)
		for range 300 {
			at := time.Duration(rng.IntN(100_000)-50_000) * time.Second
			e := stepAt(t, rng.IntN(40), at, []events.StepStatus{events.StepFailed, events.StepCompleted, "what"}[rng.IntN(3)], "boom", nil)
			e.Source = fmt.Sprint("/source", rng.IntN(4))
			e.Run = []string{"", "r1", "r2", "r3"}[rng.IntN(4)]
			e.RunType = []string{"", "RESOLVE", "review"}[rng.IntN(3)]
			if id := e.ID + e.Source; !seen[id] {
				seen[id] = true
				list = append(list, e)
			}
		}
		same(t, list)
	}
}

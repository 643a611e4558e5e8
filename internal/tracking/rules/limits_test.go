package rules_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// failAt adds a failing step of a separate run.
func failAt(tb testing.TB, list []events.Event, at time.Duration, text string, metadata map[string]any) []events.Event {
	tb.Helper()
	return append(list, stepAt(tb, len(list), at, events.StepFailed, text, metadata))
}

// succeedAt adds a completed step of a separate run.
func succeedAt(tb testing.TB, list []events.Event, at time.Duration) []events.Event {
	tb.Helper()
	return append(list, stepAt(tb, len(list), at, events.StepCompleted, "", nil))
}

func stepAt(tb testing.TB, n int, at time.Duration, status events.StepStatus, text string, metadata map[string]any) events.Event {
	tb.Helper()
	e := events.Event{
		ID: fmt.Sprintf("e%d", n), Source: "/engine", Type: events.StepFinished.Type(), Tenant: "acme",
		Run: fmt.Sprintf("r%d", n), RunType: "REVIEW", Step: "s", Time: epoch.Add(at),
	}
	d := events.StepFinishedData{StepStatus: status, AgentRole: "CODER", Metadata: metadata}
	if text != "" {
		d.Error = &events.Failure{Message: text}
	}
	if err := e.SetData(d); err != nil {
		tb.Fatal(err)
	}
	return e
}

func distinctly(n int) string {
	return "module " + string(rune('g'+n/10)) + string(rune('g'+n%10)) + " exploded"
}

func kinds(list []rules.Issue) map[rules.Kind]int {
	n := make(map[rules.Kind]int)
	for _, i := range list {
		n[i.Kind]++
	}
	return n
}

func TestLimits_Rate(t *testing.T) {
	critical := map[string]any{"severity": "Critical"}
	for _, tt := range []struct {
		name             string
		failures         int
		every            time.Duration
		metadata         map[string]any
		issues, digested int
	}{
		{"StormBelow", 4, time.Minute, nil, 4, 0},
		{"StormAt", 5, time.Minute, nil, 5, 0},
		{"StormAbove", 6, time.Minute, nil, 5, 1},
		{"StormSlides", 10, 2*time.Minute + 30*time.Second, nil, 10, 0},
		{"BudgetAt", 12, 3 * time.Minute, nil, 12, 0},
		{"BudgetAbove", 13, 3 * time.Minute, nil, 12, 1},
		{"BudgetSlides", 14, 5 * time.Minute, nil, 14, 0},
		{"CriticalBypassesTheStorm", 10, 4 * time.Minute, critical, 10, 0},
		{"CriticalIsCappedAndThenInTheStorm", 7, time.Minute, critical, 5, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var list []events.Event
			for n := range tt.failures {
				list = failAt(t, list, time.Duration(n)*tt.every, distinctly(n), tt.metadata)
			}
			s, _ := fold(t, list)
			got := kinds(s.Issues())
			if got[rules.Failure] != tt.issues || (got[rules.Digest] > 0) != (tt.digested > 0) {
				t.Errorf("got %v, want %d failures and %d digested", got, tt.issues, tt.digested)
			}
			for _, i := range s.Issues() {
				if i.Kind == rules.Digest && i.Count != tt.digested {
					t.Errorf("the digest counts %d, want %d", i.Count, tt.digested)
				}
			}
		})
	}
}

func TestLimits_Grace(t *testing.T) {
	for after, want := range map[time.Duration]int{29 * time.Second: 0, 30 * time.Second: 1, 31 * time.Second: 1} {
		list := succeedAt(t, failAt(t, nil, 0, "boom", nil), after)
		s, _ := fold(t, list)
		if got := len(s.Issues()); got != want {
			t.Errorf("recovered after %s: got %d issues, want %d", after, got, want)
		}
	}
}

func TestLimits_Regression(t *testing.T) {
	week := 7 * 24 * time.Hour
	for after, want := range map[time.Duration]int{week - time.Second: 1, week: 1, week + time.Second: 2} {
		list := succeedAt(t, failAt(t, nil, 0, "boom", nil), time.Minute)
		s, _ := fold(t, failAt(t, list, time.Minute+after, "boom", nil))
		if got := len(s.Issues()); got != want {
			t.Errorf("failed %s after closing: got %d issues, want %d", after, got, want)
		}
		linked := slices.ContainsFunc(s.Issues(), func(i rules.Issue) bool { return len(i.Links) == 1 && i.Links[0].Type == rules.RegressionOf })
		if linked != (want == 2) {
			t.Errorf("failed %s after closing: regression-of is %v", after, linked)
		}
	}
}

func TestLimits_Flapping(t *testing.T) {
	for apart, want := range map[time.Duration]rules.Status{
		2*time.Hour - time.Second: rules.Flapping, 2 * time.Hour: rules.Flapping, 2*time.Hour + time.Second: rules.Open,
	} {
		list := succeedAt(t, failAt(t, nil, 0, "boom", nil), time.Minute)
		list = succeedAt(t, failAt(t, list, 10*time.Minute, "boom", nil), 20*time.Minute)
		s, _ := fold(t, failAt(t, list, 10*time.Minute+apart, "boom", nil))
		if got := s.Issues()[0].Status; got != want {
			t.Errorf("reopened again after %s: got %s, want %s", apart, got, want)
		}
	}
}

type failingStore struct {
	memoryStore
	calls, failing int
}

var errBrittle = errors.New("the store does not answer")

func (b *failingStore) Load(k rules.Key) ([]byte, error) {
	if b.calls++; b.calls == b.failing {
		return nil, errBrittle
	}
	return b.memoryStore.Load(k)
}

func (b *failingStore) Timers(tenant string, at time.Time, limit int) ([]rules.Timer, error) {
	if b.calls++; b.calls == b.failing {
		return nil, errBrittle
	}
	return b.memoryStore.Timers(tenant, at, limit)
}

// The results do not change if the store fails and the event is applied again.
func TestState_AStoreThatFailsChangesNothing(t *testing.T) {
	list := failAt(t, nil, 0, "boom", nil)
	for n := range 8 {
		list = failAt(t, list, time.Duration(n+1)*40*time.Second, distinctly(n), nil)
	}
	want, _ := fold(t, list)
	for failing := 1; ; failing++ {
		store := &failingStore{memoryStore: make(memoryStore), failing: failing}
		s := rules.NewState(store)
		for _, e := range list {
			if _, err := s.Apply(e, rules.DefaultConfig()); errors.Is(err, errBrittle) {
				if _, err = s.Apply(e, rules.DefaultConfig()); err != nil {
					t.Fatal(err)
				}
			}
		}
		if store.calls < failing {
			if failing < 20 {
				t.Errorf("the store was called %d times only", store.calls)
			}
			return
		}
		if _, err := s.Release(rules.DefaultConfig()); err != nil {
			if _, err := s.Release(rules.DefaultConfig()); err != nil {
				t.Fatal(err)
			}
		}
		if fmt.Sprint(s.Issues()) != fmt.Sprint(want.Issues()) {
			t.Fatalf("call %d failed: got %v, want %v", failing, s.Issues(), want.Issues())
		}
	}
}

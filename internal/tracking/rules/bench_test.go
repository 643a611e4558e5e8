package rules_test

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func traffic(tb testing.TB, n int, fold func(events.Event)) {
	tb.Helper()
	const perRun = 6
	for i := range n {
		run, step := i/perRun, i%perRun
		typ := []string{"RESOLVE", "REVIEW", "TRIAGE", "PLAN"}[run%4]
		e := events.Event{
			ID: fmt.Sprintf("e%08d", i), Source: "/engine", Tenant: "acme", Run: fmt.Sprintf("r%07d", run), RunType: typ,
			Time: epoch.Add(time.Duration(i) * time.Second),
		}
		var payload any
		switch step {
		case 0:
			e.Type, payload = events.RunStarted.Type(), events.RunStartedData{RunType: typ}
		case perRun - 1:
			e.Type, payload = events.RunFinished.Type(), events.RunFinishedData{RunType: typ, Success: run%5 != 0}
		default:
			d := events.StepFinishedData{RunType: typ, AgentRole: "CODER", StepStatus: events.StepCompleted, OutputSummary: "ok"}
			if run%10 == 0 {
				d.StepStatus, d.Error = events.StepFailed, &events.Failure{Message: "cannot load module " + string(rune('g'+run%17))}
			}
			e.Type, e.Step, payload = events.StepFinished.Type(), fmt.Sprintf("s%d", step), d
		}
		if err := e.SetData(payload); err != nil {
			tb.Fatal(err)
		}
		fold(e)
	}
}

type countingStore struct {
	memoryStore
	timers  map[string]rules.Timer
	records int
}

func (s *countingStore) Timers(_ string, at time.Time, limit int) ([]rules.Timer, error) {
	list := slices.SortedFunc(maps.Values(s.timers), func(a, b rules.Timer) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID))
	})
	list = slices.DeleteFunc(list, func(t rules.Timer) bool { return t.At.After(at) })
	return list[:min(len(list), limit)], nil
}

func (s *countingStore) save(c rules.Changes) {
	s.records += len(c.Records)
	s.memoryStore.save(rules.Changes{Records: c.Records})
	for _, t := range c.Set {
		s.timers[t.ID] = t
	}
	for _, t := range c.Cleared {
		delete(s.timers, t.ID)
	}
}

// BenchmarkApply folds HOOKTRAIL_ISSUES_EVENTS events, with a new State for each batch of 500.
func BenchmarkApply(b *testing.B) {
	n := 20_000
	if v, err := strconv.Atoi(os.Getenv("HOOKTRAIL_ISSUES_EVENTS")); err == nil {
		n = v
	}
	c := rules.DefaultConfig()
	b.ReportAllocs()
	var most uint64
	var records int
	for b.Loop() {
		store := &countingStore{memoryStore: make(memoryStore), timers: make(map[string]rules.Timer)}
		state, batch := rules.NewState(store), 0
		traffic(b, n, func(e events.Event) {
			if _, err := state.Apply(e, c); err != nil {
				b.Fatal(err)
			}
			if batch++; batch%500 == 0 {
				store.save(state.Changes())
				if batch%(n/4/500*500) == 0 {
					most = max(most, memoryOf(&state, store))
				}
				state = rules.NewState(store)
			}
		})
		records = store.records
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "events/s")
	b.ReportMetric(float64(most)/1024, "KiB/state")
	b.ReportMetric(float64(records)/float64(n), "records/event")
}

func memoryOf(state **rules.State, store rules.Store) uint64 {
	var with, without runtime.MemStats
	collect()
	runtime.ReadMemStats(&with)
	*state = rules.NewState(store)
	collect()
	runtime.ReadMemStats(&without)
	return with.HeapAlloc - min(without.HeapAlloc, with.HeapAlloc)
}

// collect runs the collector three times, because a sync.Pool of the regexp package survives two.
func collect() {
	for range 3 {
		runtime.GC()
	}
}

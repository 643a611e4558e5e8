package rules_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func wrongClock(tb testing.TB, name string, kind events.Kind, at time.Time) events.Event {
	tb.Helper()
	e := events.Event{
		ID: "astray-" + name, Source: "/broken", Type: kind.Type(), Tenant: "acme", Run: "astray", RunType: "REVIEW", Time: at,
	}
	var payload any
	switch kind {
	case events.StepFinished:
		e.Step = name
		d := events.StepFinishedData{AgentRole: "CODER", StepStatus: events.StepCompleted}
		if strings.HasPrefix(name, "failed") {
			d.StepStatus, d.Error = events.StepFailed, &events.Failure{Message: "something of its own"}
		}
		payload = d
	case events.RunStarted:
		payload = events.RunStartedData{}
	case events.RunFinished:
		payload = events.RunFinishedData{Success: true}
	case events.ClockTicked:
		payload = events.ClockTickedData{At: at}
	}
	if err := e.SetData(payload); err != nil {
		tb.Fatal(err)
	}
	return e
}

// busy returns a history that depends on the clock.
func busy(tb testing.TB) []events.Event {
	tb.Helper()
	list := failAt(tb, nil, 0, "quickly repaired", nil)
	list = succeedAt(tb, list, 20*time.Second)
	for n := range 8 {
		list = failAt(tb, list, 10*time.Minute+time.Duration(n)*20*time.Second, distinctly(n), nil)
	}
	for n := range 3 {
		list = failAt(tb, list, time.Hour+time.Duration(n)*2*time.Minute, distinctly(20+n), nil)
	}
	e := stepAt(tb, len(list), 3*time.Hour, events.StepCompleted, "", nil)
	e.RunType = "RESOLVE"
	list = append(list, ofRun(tb, e, e.ID, events.RunStarted, 3*time.Hour, events.RunStartedData{}))
	list = succeedAt(tb, list, 4*time.Hour)
	return failAt(tb, list, 6*time.Hour, distinctly(30), nil)
}

func others(s *rules.State) []string {
	var out []string
	for _, i := range s.Issues() {
		if i.Run != "astray" {
			out = append(out, fmt.Sprint(i.Kind, i.Title, i.Status, i.Labels, i.Count))
		}
	}
	slices.Sort(out)
	return out
}

// An event far ahead must not affect other runs.
func TestClock_OneEventFarAhead(t *testing.T) {
	plain := busy(t)
	for _, ahead := range []time.Time{
		epoch.AddDate(973, 0, 0), time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC), epoch.AddDate(0, 1, 0), epoch.AddDate(3, 0, 0),
	} {
		for name, kind := range map[string]events.Kind{
			"tick": events.Custom, "failed": events.StepFinished, "start": events.RunStarted, "end": events.RunFinished, "done": events.StepFinished,
		} {
			if name == "done" && ahead.Before(epoch.AddDate(2, 0, 0)) {
				continue // the time may be right, and then the event recovers earlier failures
			}
			for _, at := range []int{1, 4, 8, 11, 14} {
				now, _ := fold(t, slices.Insert(slices.Clone(plain), at, wrongClock(t, name, kind, plain[at-1].Time)))
				want := others(now)
				list := slices.Insert(slices.Clone(plain), at, wrongClock(t, name, kind, ahead))
				s, decisions := fold(t, list)
				if diff := cmp.Diff(want, others(s)); diff != "" {
					t.Errorf("%s of %d before event %d: issues (-now +ahead):\n%s", name, ahead.Year(), at, diff)
				}
				if n := considered(list); len(decided(decisions)) != n {
					t.Errorf("%s of %d before event %d: %d decisions, want %d", name, ahead.Year(), at, len(decided(decisions)), n)
				}
			}
		}
	}
}

func considered(list []events.Event) (n int) {
	for _, e := range list {
		if rules.Considered(e.Kind()) {
			n++
		}
	}
	return n
}

func decided(decisions []rules.Decision) map[string]bool {
	seen := make(map[string]bool)
	for _, d := range decisions {
		if rules.Considered(d.Kind) {
			seen[d.Event] = true
		}
	}
	return seen
}

func TestClock_AHoldFarAheadEnds(t *testing.T) {
	for _, ahead := range []time.Time{epoch.AddDate(0, 1, 0), epoch.AddDate(973, 0, 0)} {
		s := new(rules.State)
		list := succeedAt(t, nil, 0)
		list = append(list, wrongClock(t, "failed", events.StepFinished, ahead))
		list = succeedAt(t, list, 10*time.Second)
		if got := decided(apply(t, s, list...)); got["astray-failed"] {
			t.Errorf("%d: decided on at once", ahead.Year())
		}
		if got := decided(apply(t, s, succeedAt(t, list, time.Minute)[3])); !got["astray-failed"] {
			t.Errorf("%d: not decided on after its grace period", ahead.Year())
		}
	}
}

// A single producer with a wrong clock moves the clock.
func TestClock_ComesBack(t *testing.T) {
	var list []events.Event
	for n := range 10 {
		list = append(list, wrongClock(t, fmt.Sprintf("failed%d", n), events.StepFinished, epoch.AddDate(973, 0, n)))
	}
	for n := range 30 {
		list = append(list, stepAt(t, 100+n, time.Duration(n)*time.Second, events.StepCompleted, "", nil))
	}
	for _, e := range busy(t) {
		e.Time = e.Time.Add(time.Hour)
		list = append(list, e)
	}
	want, _ := fold(t, busy(t))
	s, _ := fold(t, list)
	if diff := cmp.Diff(others(want), others(s)); diff != "" {
		t.Errorf("issues (-without +after):\n%s", diff)
	}
}

func TestClock_LongGaps(t *testing.T) {
	for _, gap := range []time.Duration{8 * 24 * time.Hour, 40 * 24 * time.Hour, 500 * 24 * time.Hour} {
		list := succeedAt(t, failAt(t, nil, 0, "boom", nil), time.Minute)
		list = failAt(t, list, gap, "boom", nil)
		again := stepAt(t, 9, gap+10*time.Minute, events.StepCompleted, "", nil)
		again.Run = list[2].Run
		s, _ := fold(t, append(list, again))
		var got []string
		for _, i := range s.Issues() {
			got = append(got, fmt.Sprint(i.Kind, i.Status, len(i.Links)))
		}
		slices.Sort(got)
		if diff := cmp.Diff([]string{"failureclosed0", "failureclosed1"}, got); diff != "" {
			t.Errorf("a gap of %s: issues (-want +got):\n%s", gap, diff)
		}
	}
}

// A plausible clock.ticked needs no confirmation, nor does a plausible custom event without a run.
func TestClock_TimePasses(t *testing.T) {
	for _, tt := range []struct {
		kind events.Kind
		days int
		want bool
	}{
		{events.ClockTicked, 20, true},
		{events.ClockTicked, 700, true},
		{events.ClockTicked, 5000, false}, // forged
		{events.ClockTicked, 26600, false},
		{events.Custom, 20, true},
		{events.Custom, 5000, false},
		{events.ToolBefore, 20, false},
	} {
		list := append(failAt(t, nil, 0, "boom", nil), wrongClock(t, "clock", tt.kind, epoch.AddDate(0, 0, tt.days)))
		list[1].Run, list[1].RunType = "", ""
		if got := decided(apply(t, new(rules.State), list...))["e0"]; got != tt.want {
			t.Errorf("%s after %d days: decided after the grace period: %v, want %v", tt.kind, tt.days, got, tt.want)
		}
	}
}

// The import of old sessions must not create a digest for each, and all grace periods must end.
func TestClock_Extremes(t *testing.T) {
	years := []int{1, 1970, 2019, 2025, 2026, 2027, 5000, 9999}
	var list []events.Event
	for n := range 400 {
		year := years[(n*7)%len(years)]
		e := stepAt(t, n, time.Duration(n)*time.Second, events.StepFailed, distinctly(n%90), nil)
		e.Time = time.Date(year, 1, 1, 0, 0, n, 0, time.UTC)
		if n%50 == 0 {
			e.Time = time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC)
		}
		if n%51 == 0 {
			e.Time = time.Time{}
		}
		if n%3 == 0 {
			e.RunType = "RESOLVE"
		}
		list = append(list, e)
	}
	store := make(memoryStore)
	var decisions []rules.Decision
	for _, e := range list {
		s := rules.NewState(store)
		decisions = append(decisions, apply(t, s, e)...)
		store.save(s.Changes())
	}
	s := rules.NewState(store)
	decisions = append(decisions, release(t, s)...)
	store.save(s.Changes())
	if got := len(decided(decisions)); got != len(list) {
		t.Errorf("%d of %d events are decided on", got, len(list))
	}
	for key, value := range store {
		if value == "null" {
			t.Errorf("record %s %s is lost", key.Kind, key.ID)
		}
	}
	straight, _ := fold(t, list)
	if got := kinds(straight.Issues())[rules.Digest]; got > 12 {
		t.Errorf("got %d digests", got)
	}
}

// A seal is not work, even if a repeated delivery seals the run again.
func TestClock_ASealIsNoOccurrence(t *testing.T) {
	h := newHistory(t, "RESOLVE").start(nil).end(true, nil)
	want, _ := fold(t, h.list)
	got, decisions := fold(t, h.add(events.RunSealed, "", events.RunSealedData{}).list)
	if diff := cmp.Diff(want.Issues(), got.Issues()); diff != "" {
		t.Errorf("issues (-without +with):\n%s", diff)
	}
	if d := decisions[len(decisions)-1]; d.Kind != events.RunSealed || d.Action != rules.None || len(d.Issues) > 0 {
		t.Errorf("decided %+v", d)
	}
}

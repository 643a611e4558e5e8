package rules_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// outage returns failing steps of n RESOLVE runs, 13 s apart, with one class.
func outage(tb testing.TB, n int, metadata map[string]any) []events.Event {
	tb.Helper()
	var list []events.Event
	for i := range n {
		e := stepAt(tb, i, time.Duration(i)*13*time.Second, events.StepFailed, fmt.Sprintf("no answer %d", i), metadata)
		e.RunType = "RESOLVE"
		list = append(list, e)
	}
	return list
}

func ofRun(tb testing.TB, e events.Event, id string, kind events.Kind, at time.Duration, payload any) events.Event {
	tb.Helper()
	e.ID, e.Type, e.Step, e.Time, e.Data = id, kind.Type(), "", epoch.Add(at), nil
	if err := e.SetData(payload); err != nil {
		tb.Fatal(err)
	}
	return e
}

// Without a run.started, infrastructure failures share one issue. A run.started, however late, is
// tracked.
func TestOutage_RunsWithoutAStart(t *testing.T) {
	down := map[string]any{"error_class": "provider_unavailable"}
	list := outage(t, 12, down)
	failed := events.Failure{Message: "no answer", Class: "provider_unavailable"}
	for _, tt := range []struct {
		name string
		more []events.Event
		want map[rules.Kind]int
	}{
		{"StepsAlone", nil, map[rules.Kind]int{rules.Failure: 1}},
		{"AnErrorBefore", []events.Event{ofRun(t, list[3], "x", events.Error, 0, events.ErrorData{Error: failed})}, map[rules.Kind]int{rules.Failure: 1}},
		{"AnErrorBeforeInAProvidersWords", []events.Event{ofRun(t, list[3], "x", events.Error, 0, events.ErrorData{Error: events.Failure{Message: "API Error: 529 Overloaded"}})}, map[rules.Kind]int{rules.Failure: 1}},
		{"AnEndWithoutAClass", []events.Event{ofRun(t, list[3], "x", events.RunFinished, 5*time.Minute, events.RunFinishedData{})}, map[rules.Kind]int{rules.Failure: 1}},
		{"ARecord", []events.Event{ofRun(t, list[3], "x", events.RunSealed, 5*time.Minute, nil)}, map[rules.Kind]int{rules.Failure: 1}},
		{"AStartWhileItIsHeld", []events.Event{ofRun(t, list[0], "x", events.RunStarted, 5*time.Second, events.RunStartedData{})}, map[rules.Kind]int{rules.Failure: 1, rules.Tracking: 1}},
		{"AStartMinutesLater", []events.Event{ofRun(t, list[0], "x", events.RunStarted, 5*time.Minute, events.RunStartedData{})}, map[rules.Kind]int{rules.Failure: 1, rules.Tracking: 1}},
		{"AStartBefore", []events.Event{ofRun(t, list[3], "x", events.RunStarted, -time.Second, events.RunStartedData{})}, map[rules.Kind]int{rules.Failure: 1, rules.Tracking: 1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all := append(append([]events.Event{}, list...), tt.more...)
			byTime(all)
			s, _ := fold(t, all)
			if diff := cmp.Diff(tt.want, kinds(s.Issues())); diff != "" {
				t.Errorf("issues (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOutage_OtherFailuresAreTracked(t *testing.T) {
	s, _ := fold(t, outage(t, 3, nil))
	if diff := cmp.Diff(map[rules.Kind]int{rules.Tracking: 3}, kinds(s.Issues())); diff != "" {
		t.Errorf("issues (-want +got):\n%s", diff)
	}
}

func byTime(list []events.Event) {
	slices.SortStableFunc(list, func(a, b events.Event) int { return a.Time.Compare(b.Time) })
}

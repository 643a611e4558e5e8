package rules_test

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// leaveAt adds a completed step of a separate run that leaves three items undone.
func leaveAt(tb testing.TB, list []events.Event, at time.Duration) []events.Event {
	tb.Helper()
	e := stepAt(tb, len(list), at, events.StepCompleted, "", nil)
	summary := ""
	for _, what := range []string{"migrate", "document", "measure"} {
		summary += fmt.Sprintf("Follow-up: %s %s. ", what, distinctly(len(list)))
	}
	if err := e.SetData(events.StepFinishedData{AgentRole: "CODER", StepStatus: events.StepCompleted, OutputSummary: summary}); err != nil {
		tb.Fatal(err)
	}
	return append(list, e)
}

// Follow-ups count against the limit of failures. The limiter allows all follow-ups of one event or
// none.
func TestLimits_RateOfFollowups(t *testing.T) {
	for _, tt := range []struct {
		name     string
		failures int // before the follow-ups
		every    time.Duration
		after    int // failures after the follow-ups
		want     map[rules.Kind]int
		digested int
	}{
		{"StormBelow", 2, time.Minute, 0, map[rules.Kind]int{rules.Failure: 2, rules.Followup: 3}, 0},
		{"StormLastSlot", 4, time.Minute, 0, map[rules.Kind]int{rules.Failure: 4, rules.Followup: 3}, 0},
		{"StormFull", 5, time.Minute, 0, map[rules.Kind]int{rules.Failure: 5, rules.Digest: 1}, 3},
		{"StormEachCounts", 1, time.Minute, 1, map[rules.Kind]int{rules.Failure: 2, rules.Followup: 3}, 0},
		{"StormEachCountsAndIsFull", 1, time.Minute, 2, map[rules.Kind]int{rules.Failure: 2, rules.Followup: 3, rules.Digest: 1}, 1},
		{"BudgetLastSlot", 11, 4 * time.Minute, 0, map[rules.Kind]int{rules.Failure: 11, rules.Followup: 3}, 0},
		{"BudgetFull", 12, 4 * time.Minute, 0, map[rules.Kind]int{rules.Failure: 12, rules.Digest: 1}, 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var list []events.Event
			for n := range tt.failures {
				list = failAt(t, list, time.Duration(n)*tt.every, distinctly(n), nil)
			}
			at := time.Duration(tt.failures) * tt.every
			list = leaveAt(t, list, at)
			for n := range tt.after {
				list = failAt(t, list, at+time.Duration(n+1)*time.Minute, distinctly(30+n), nil)
			}
			s, _ := fold(t, list)
			if diff := cmp.Diff(tt.want, kinds(s.Issues())); diff != "" {
				t.Errorf("issues (-want +got):\n%s", diff)
			}
			if got := digested(s); got != tt.digested {
				t.Errorf("got %d listed in the digest, want %d", got, tt.digested)
			}
		})
	}
}

func digested(s *rules.State) int {
	for key, value := range stored(s) {
		var n struct {
			Entries int `json:"entries"`
		}
		if key.Kind == "digest" && json.Unmarshal([]byte(value), &n) == nil {
			return n.Entries
		}
	}
	return 0
}

func stored(s *rules.State) memoryStore {
	store := make(memoryStore)
	store.save(s.Changes())
	return store
}

func TestLimits_RateOfTracking(t *testing.T) {
	for _, tt := range []struct {
		name              string
		runs              int
		every             time.Duration
		tracking, digests int
	}{
		{"Below", 24, 20 * time.Second, 24, 0},
		{"At", 25, 20 * time.Second, 25, 0},
		{"Above", 26, 20 * time.Second, 25, 1},
		{"Slides", 60, 24 * time.Second, 60, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var list []events.Event
			for n := range 5 { // fill the storm limit
				list = failAt(t, list, 0, distinctly(n), nil)
			}
			for n := range tt.runs {
				e := stepAt(t, len(list), 40*time.Second+time.Duration(n)*tt.every, events.StepCompleted, "", nil)
				e.RunType = "RESOLVE"
				list = append(list, ofRun(t, e, e.ID, events.RunStarted, e.Time.Sub(epoch), events.RunStartedData{}))
			}
			s, _ := fold(t, list)
			got := kinds(s.Issues())
			if got[rules.Tracking] != tt.tracking || got[rules.Digest] != tt.digests || got[rules.Failure] != 5 {
				t.Errorf("got %v, want %d tracking, %d digests, 5 failures", got, tt.tracking, tt.digests)
			}
			if n := digested(s); n != tt.runs-tt.tracking {
				t.Errorf("got %d listed in the digest, want %d", n, tt.runs-tt.tracking)
			}
		})
	}
}

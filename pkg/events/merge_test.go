package events_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Ends of a run have one order, so that the end that counts does not depend on their delivery.
func TestRunEnd_Order(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		statuses := []events.RunStatus{events.RunCompleted, events.RunFailed, events.RunInterrupted, events.RunUnknown, "", "odd"}
		reasons := []string{"", events.ReasonIdle, events.ReasonEndOfLog, events.ReasonInTurn}
		end := rapid.Custom(func(t *rapid.T) events.RunEnd {
			return events.RunEnd{
				ID: rapid.StringN(1, 1, 1).Draw(t, "id"), Time: time.Unix(rapid.Int64Range(0, 2).Draw(t, "time"), 0),
				Data: events.RunFinishedData{
					RunStatus: rapid.SampledFrom(statuses).Draw(t, "status"), Success: rapid.Bool().Draw(t, "success"),
					Reason: rapid.SampledFrom(reasons).Draw(t, "reason"),
				},
			}
		})
		a, b, c := end.Draw(t, "a"), end.Draw(t, "b"), end.Draw(t, "c")
		if a.Compare(b) != -b.Compare(a) || a.Compare(a) != 0 {
			t.Errorf("%+v and %+v: got %d and %d", a, b, a.Compare(b), b.Compare(a))
		}
		if a.Compare(b) > 0 && b.Compare(c) > 0 && a.Compare(c) <= 0 {
			t.Errorf("no order of %+v, %+v, %+v", a, b, c)
		}
		if a.Data.IsEndOfLog() && !b.Data.IsEndOfLog() && a.Compare(b) > 0 {
			t.Errorf("%+v replaces %+v", a, b)
		}
	})
}

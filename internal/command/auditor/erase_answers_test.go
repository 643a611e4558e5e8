package auditor

import (
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Any client can send an answer to an order. Only the one of the tracker that decided before the
// order counts.
//
//guarantee:erase-issues
func TestTrackerAnswers_OnlyOfTheTracker(t *testing.T) {
	f := ledgertest.NewFeed("acme")
	const decided, answered = `{"event":"e","action":"none","rule":"x"}`, `{"event":"order","action":"none","rule":"` + events.RuleErased + `"}`
	say := func(producer, data string) {
		e := ledgertest.Form{Kind: events.IssueDecided, Data: data}.Event("")
		e.ID = events.NewID()
		f.Publish(producer, e)
	}
	say("tracker-1", decided)
	order := int64(len(f.Messages))
	f.Publish("auditor", ledgertest.Form{Kind: events.Custom, Data: `{"name":"stands for the order"}`}.Event(""))
	say("tracker-2", decided)
	say("tracker-2", answered)
	say("coder", answered)
	r, err := ledger.OpenReader(ledgertest.Write(t, t.TempDir(), ledgertest.NewKey(t), f, 100))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Close(); err != nil {
			t.Error(err)
		}
	})
	var flags orderFlags
	name, err := flags.tracker(t.Context(), t.TempDir(), r, order)
	if err != nil || name != "tracker-1" {
		t.Fatalf("the tracker is %q, %v", name, err)
	}
	done := []ledger.Outcome{{Order: ledger.Order{ID: "order"}, Leaf: order}}
	for producer, want := range map[string]TrackerAnswer{"tracker-1": TrackerMissing, "tracker-2": TrackerErased} {
		answers := trackerAnswers{producer: producer, after: order, rules: map[string]string{}}
		if got, err := answers.to(t.Context(), r, done); got != want || err != nil {
			t.Errorf("%s: %s, %v, want %s", producer, got, err, want)
		}
	}
}

package verifier_test

import (
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// continueAt adds forged events with the numbers of p.
func continueAt(t *testing.T, f *ledgertest.Feed, numbers ...uint64) {
	t.Helper()
	for _, n := range numbers {
		e, err := events.New(events.Custom, "/forged", events.CustomData{Name: "harmless"})
		if err != nil {
			t.Fatal(err)
		}
		e.Tenant, e.Producer, e.Sequence, e.Salt, e.Time = "acme", "p", n, "c2FsdHNhbHRzYWx0c2FsdA", f.Now
		f.Add(subjects.Address{Tenant: "acme", Producer: "p", Kind: events.Custom}, e.Encode())
	}
}

// A stranger can continue the numbers of a producer. No manifest lists such events, so they are in
// flight, and unproven after three intervals of the producer.
//
//guarantee:in-flight
func TestInFlight(t *testing.T) {
	const minute = time.Minute
	beats := func(f *ledgertest.Feed, n int) {
		for range n {
			wait(f, minute)
			f.Beat("p")
		}
	}
	for _, tt := range []struct {
		name   string
		build  func(f *ledgertest.Feed)
		want   verifier.Completeness
		events uint64
	}{
		{"None", func(f *ledgertest.Feed) { beats(f, 10) }, verifier.Complete, 0},
		{"Recent", func(f *ledgertest.Feed) { continueAt(t, f, coming, coming+1); wait(f, 2*minute) }, verifier.Complete, 2},
		{"Old", func(f *ledgertest.Feed) { continueAt(t, f, coming, coming+1); beats(f, 4) }, verifier.Unproven, 2},
		{"Growing", func(f *ledgertest.Feed) {
			continueAt(t, f, coming)
			beats(f, 4)
			continueAt(t, f, coming+1)
		}, verifier.Unproven, 2},
		{"ListedLater", func(f *ledgertest.Feed) {
			f.Event("p", "r2", events.Custom, events.CustomData{Name: "slow"})
			wait(f, time.Hour) // the broker was away
			f.Manifest("p")
		}, verifier.Complete, 0},
		{"Closed", func(f *ledgertest.Feed) {
			f.Close("p")
			continueAt(t, f, coming, coming+1)
			wait(f, 4*minute)
		}, verifier.Unproven, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := ledgertest.NewFeed("acme")
			f.Open("p", minute)
			f.Run("p", "r1", 3)
			tt.build(f)
			r := verified(t, f)
			ledgertest.WantVerdicts(t, r, verifier.Verified, tt.want)
			p := r.Producers[0]
			if p.InFlightEvents != tt.events || p.InFlightSince.IsZero() != (tt.events == 0) ||
				p.InFlight != (tt.events > 0 && tt.want == verifier.Complete) {
				t.Errorf("got %+v", p)
			}
		})
	}
}

// A producer of an older version announces no interval, and has the time of silence.
//
//guarantee:in-flight
func TestInFlight_OlderVersion(t *testing.T) {
	for d, want := range map[time.Duration]verifier.Completeness{
		29 * time.Minute: verifier.Complete, 31 * time.Minute: verifier.Unproven,
	} {
		f := signed()
		f.Event("p", "", events.Custom, events.CustomData{Name: "slow"})
		wait(f, d)
		ledgertest.WantVerdicts(t, verified(t, f), verifier.Verified, want)
	}
}

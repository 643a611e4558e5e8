package ledger_test

import (
	"slices"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// A gap becomes visible with the first record that has a higher number, which is not always the
// next number.
func TestActivity_GapsNoticed(t *testing.T) {
	f, key := ledgertest.NewFeed("acme"), ledgertest.NewKey(t)
	last := uint64(0)
	for _, number := range []uint64{1, 9, 3, 6} {
		f.Skip("p", number-1-last, "") // may wrap around
		last = f.Event("p", "", events.Custom, events.CustomData{Name: "x"}).Sequence
	}
	path := ledgertest.Write(t, t.TempDir(), key, f, 100)
	var stored []time.Time
	for _, e := range ledgertest.Leaves(t, path) {
		stored = append(stored, e.Stored)
	}
	r := openReader(t, path)
	got, err := r.Activity().GapsNoticed(t.Context(), "p", []uint64{12, 2, 5, 8, 0})
	if err != nil {
		t.Fatal(err)
	}
	if want := []time.Time{stored[3], stored[1], stored[1], stored[1], stored[0]}; !slices.EqualFunc(got, want, time.Time.Equal) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, err := r.Activity().GapsNoticed(t.Context(), "unknown", []uint64{1}); err != nil || !got[0].IsZero() {
		t.Errorf("unknown producer: got %v, %v", got, err)
	}
}

// The newest event that counts is found behind any number of events that do not, which are passed once
// and the newest first.
func TestActivity_LastSender(t *testing.T) {
	f, key := ledgertest.NewFeed("acme"), ledgertest.NewKey(t)
	decide := func(producer string) { f.Event(producer, "", events.IssueDecided, events.IssueDecidedData{Event: "e"}) }
	decide("tracker-a")
	for range 500 {
		decide("tracker-forged")
		decide("other")
	}
	f.Event("tracker-late", "", events.Custom, events.CustomData{Name: "x"})
	path := ledgertest.Write(t, t.TempDir(), key, f, 100)
	leaves := ledgertest.Leaves(t, path)
	before := leaves[len(leaves)-1].Leaf + 1
	a := openReader(t, path).Activity()
	asked, last := 0, before
	counts := func(s ledger.Sent) bool {
		if asked++; s.Leaf >= last {
			t.Errorf("leaf %d after %d", s.Leaf, last)
		}
		last = s.Leaf
		return s.Producer == "tracker-a"
	}
	if name, err := a.LastSender(t.Context(), "tracker-", events.IssueDecided, before, counts); err != nil || name != "tracker-a" || asked != 501 {
		t.Errorf("got %q, %v, asked %d times", name, err, asked)
	}
	none := func(ledger.Sent) bool { return false }
	if name, err := a.LastSender(t.Context(), "tracker-", events.IssueDecided, before, none); err != nil || name != "" {
		t.Errorf("got %q, %v", name, err)
	}
	names, err := a.Senders(t.Context(), "tracker-", events.IssueDecided, before)
	if err != nil || !slices.Equal(names, []string{"tracker-forged", "tracker-a"}) {
		t.Errorf("senders: got %q, %v", names, err)
	}
}

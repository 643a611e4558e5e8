package ledger_test

import (
	"slices"
	"testing"
	"time"

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

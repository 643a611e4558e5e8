package writer_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

func verifiedWith(tb testing.TB, path string, opts verifier.Options) verifier.Report {
	tb.Helper()
	report, err := verifier.Verify(tb.Context(), path, opts)
	if err != nil {
		tb.Fatal(err)
	}
	return report
}

// A pin accepts later and earlier keys that signed changes lead to, and no others.
//
//guarantee:anchor-pinned
func TestRotate_Pinned(t *testing.T) {
	r := rotate(t, 2)
	thief := opened(t, filepath.Join(t.TempDir(), "keys"))
	newest, stranger := r.keys[2], ledgertest.VerifierOf(thief)
	pin := func(binding bool, keys ...note.Verifier) []verifier.Pin {
		list := make([]verifier.Pin, len(keys))
		for i, key := range keys {
			list[i] = verifier.Pin{Key: key, Binding: binding}
		}
		return list
	}
	of := func(i int) note.Verifier { return ledgertest.VerifierOf(r.keys[i]) }
	for _, tt := range []struct {
		name   string
		anchor verifier.Anchoring
		want   verifier.AnchorState
		exit   int
	}{
		{"Oldest", verifier.Anchoring{Pins: pin(true, of(0))}, verifier.AnchorPinned, 0},
		{"Newest", verifier.Anchoring{Pins: pin(true, of(2))}, verifier.AnchorPinned, 0},
		{"OneOfTwo", verifier.Anchoring{Pins: pin(true, stranger, of(1))}, verifier.AnchorPinned, 0},
		{"OfNoDirectory", verifier.Anchoring{Pins: pin(false, stranger, of(0))}, verifier.AnchorPinned, 0},
		{"Other", verifier.Anchoring{Pins: pin(true, stranger)}, verifier.AnchorDiverged, verifier.ExitDiverged},
		{"OtherBinds", verifier.Anchoring{Pins: append(pin(false, of(2)), pin(true, stranger)...)}, verifier.AnchorDiverged, verifier.ExitDiverged},
		{"OtherOfNoDirectory", verifier.Anchoring{Pins: pin(false, stranger)}, verifier.AnchorNone, verifier.ExitUnanchored},
		{"OtherTenant", verifier.Anchoring{Pins: []verifier.Pin{{Key: of(2), Origin: "hooktrail/other", Binding: true}}}, verifier.AnchorNone, verifier.ExitUnanchored},
		{"Nothing", verifier.Anchoring{}, verifier.AnchorNone, verifier.ExitUnanchored},
		{"Given", verifier.Anchoring{Given: "--key", Pins: pin(true, of(0))}, verifier.AnchorGiven, 0},
		{"GivenAgainstThePin", verifier.Anchoring{Given: "--key", Pins: pin(true, stranger)}, verifier.AnchorDiverged, verifier.ExitDiverged},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := verifier.Verify(t.Context(), r.path, verifier.Options{Key: ledgertest.VerifierOf(newest), Anchor: &tt.anchor})
			if err != nil || got.Anchor == nil || got.Anchor.State != tt.want {
				t.Fatalf("got %+v, %v, want %s", got.Anchor, err, tt.want)
			}
			unanchored := verifiedBy(t, r.path, ledgertest.VerifierOf(newest)).Exit
			if want := max(tt.exit, unanchored); got.Exit != want {
				t.Errorf("got exit %d, want %d", got.Exit, want)
			}
		})
	}
}

// The thief of a replaced key cuts the ledger before the change and introduces another key. A
// pin of the right successor detects it, and so does a retained checkpoint.
//
//guarantee:anchor-pinned
func TestRotate_PinnedSuccessor(t *testing.T) {
	r, stolen := rotate(t, 1), t.TempDir()
	if err := os.Link(filepath.Join(r.dir, "retired", strings.TrimPrefix(r.keys[0].ID(), "hooktrail+")+".key"), filepath.Join(stolen, "ledger.key")); err != nil {
		t.Fatal(err)
	}
	opened(t, stolen)
	thief := rotated(t, stolen, "acme")
	f := ledgertest.NewFeed("acme")
	f.Say("run-a", "another history")
	f.Changes(thief, 0)
	for range 20 {
		f.Say("run-b", "more of it")
	}
	path := ledgertest.Write(t, t.TempDir(), thief, f, 3)
	opts := verifier.Options{Key: ledgertest.VerifierOf(thief)}
	opts.Anchor = &verifier.Anchoring{Pins: []verifier.Pin{{Key: ledgertest.VerifierOf(r.keys[1]), Binding: true}}}
	if got := verifiedWith(t, path, opts); got.Integrity != verifier.Verified || got.Exit != verifier.ExitDiverged {
		t.Errorf("the successor is pinned: got %s, exit %d, %q", got.Integrity, got.Exit, got.Problems)
	}
	opts.Anchor = &verifier.Anchoring{Pins: []verifier.Pin{{Key: ledgertest.VerifierOf(r.keys[0]), Binding: true}}}
	opts.Anchored = []verifier.Anchored{{From: "file", Note: slices.Clone(r.kept[0])}}
	got := verifiedWith(t, path, opts)
	if got.Anchor.State != verifier.AnchorPinned || got.Exit != verifier.ExitDiverged {
		t.Errorf("a kept checkpoint: got exit %d, %+v, %+v", got.Exit, got.Anchor, got.Anchored)
	}
}

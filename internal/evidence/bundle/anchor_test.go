package bundle

import (
	"testing"

	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

// A bundle without an expected key must be signed by a pinned key, or by a successor of one that a
// signed key change names. The key inside the bundle proves nothing.
//
//guarantee:anchor-exported
func TestCheck_Anchor(t *testing.T) {
	e, old := twoKeys(t)
	stranger := newFeed().write(t)
	path := e.bundle(t, ledger.Selection{})
	pin := func(key note.Verifier, origin string) verifier.Pin {
		return verifier.Pin{Key: key, Origin: origin, Binding: origin != ""}
	}
	for _, tt := range []struct {
		name string
		pins []verifier.Pin
		want verifier.AnchorState
	}{
		{"None", nil, verifier.AnchorNone},
		{"Newest", []verifier.Pin{pin(stranger.key, ""), pin(e.key, "")}, verifier.AnchorPinned},
		{"Older", []verifier.Pin{pin(old, "hooktrail/acme")}, verifier.AnchorPinned},
		{"Other", []verifier.Pin{pin(stranger.key, "")}, verifier.AnchorNone},
		{"OtherOfThisTenant", []verifier.Pin{pin(stranger.key, "hooktrail/acme")}, verifier.AnchorDiverged},
		{"OtherOfOtherTenant", []verifier.Pin{pin(e.key, "hooktrail/other")}, verifier.AnchorNone},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := check(t, path, CheckOptions{Anchor: &verifier.Anchoring{Pins: tt.pins}})
			if r.Integrity != verifier.Verified || r.Anchor == nil || r.Anchor.State != tt.want || r.OwnKey != (tt.want != verifier.AnchorPinned) {
				t.Fatalf("got %s, %+v, own key %t, want %s: %q", r.Integrity, r.Anchor, r.OwnKey, tt.want, r.Problems)
			}
			if want := r.Anchor.Exit(); r.Exit < want || want == 0 && r.Exit >= verifier.ExitUnanchored {
				t.Errorf("got exit %d, the anchor demands %d", r.Exit, want)
			}
		})
	}
}

package verifier_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// A thief of the key changes the arrivals, but not the tree.
//
//guarantee:verify-extensions
func TestForgery_StolenKeyChangesArrivals(t *testing.T) {
	key := ledgertest.NewKey(t)
	honest := ledgertest.Write(t, t.TempDir(), key, ledgertest.BigFeed(), 50)
	all := ledgertest.Notes(t, honest)
	trusted := []byte(all[len(all)-1])
	for name, change := range map[string]func(*ledgertest.Feed){
		"SeenAgainLeftOut": func(f *ledgertest.Feed) {
			n := len(f.Messages)
			f.Messages = append(f.Messages[:n-3:n-3], f.Messages[n-1])
		},
		"StoredAtAnotherTime": func(f *ledgertest.Feed) { f.Messages[3].Stored = f.Messages[2].Stored },
		"SeenOnceMore": func(f *ledgertest.Feed) {
			again, err := events.Decode(f.Messages[0].Data)
			if err != nil {
				t.Fatal(err)
			}
			f.Publish("more", again)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := ledgertest.BigFeed()
			change(f)
			lie := ledgertest.Write(t, t.TempDir(), key, f, 50)
			if r := ledgertest.Verify(t, lie, key, verifier.Options{}); r.Integrity != verifier.Verified {
				t.Fatalf("a forgery with the key itself: got %s, %q", r.Integrity, r.Problems)
			}
			want := verifier.ExitDiverged
			if name == "SeenOnceMore" { // it comes after the trusted checkpoint
				want = verifier.ExitIncomplete
			}
			r := ledgertest.Verify(t, lie, key, verifier.Options{Trusted: trusted})
			if r.Exit != want || r.Trusted == nil || r.Trusted.Diverged != (want == verifier.ExitDiverged) {
				t.Errorf("got exit %d, want %d: %+v", r.Exit, want, r.Trusted)
			}
		})
	}
}

func TestForgery_TrustedCheckpointOfAnotherLedger(t *testing.T) {
	key := ledgertest.NewKey(t)
	path := ledgertest.Write(t, t.TempDir(), key, ledgertest.BigFeed(), 50)
	other, err := writer.Open(context.Background(), t.TempDir(), "other", writer.Options{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	nothing := ledgertest.Notes(t, other.Path())[0]
	// A checkpoint of an empty tree has the same root for every ledger.
	r, err := verifier.Verify(t.Context(), path, verifier.Options{Key: ledgertest.VerifierOf(key), Trusted: []byte(nothing)})
	if err == nil && r.Exit != verifier.ExitDiverged {
		t.Errorf("got exit %d, %+v, want %d", r.Exit, r.Trusted, verifier.ExitDiverged)
	}
}

// A checkpoint from an anchor counts like a trusted one if the ledger's key signed it.
//
//guarantee:admin-forges
func TestForgery_AnchoredCheckpoints(t *testing.T) {
	key := ledgertest.NewKey(t)
	honest := ledgertest.Write(t, t.TempDir(), key, ledgertest.BigFeed(), 50)
	all := ledgertest.Notes(t, honest)
	lie := ledgertest.Write(t, t.TempDir(), key, forged(ledgertest.BigFeed), 50)
	last := verifier.Anchored{From: "bucket", Note: []byte(all[len(all)-1])}
	stranger := verifier.Anchored{From: "file", Note: []byte(ledgertest.Notes(t, ledgertest.Write(t, t.TempDir(), ledgertest.NewKey(t), ledgertest.BigFeed(), 50))[3])}
	away := verifier.Anchored{From: "away", Err: context.DeadlineExceeded}
	for _, tt := range []struct {
		name, path string
		kept       []verifier.Anchored
		want       int
	}{
		{"Agrees", honest, []verifier.Anchored{last}, verifier.ExitVerified},
		{"AgreesAmongOthers", honest, []verifier.Anchored{away, last}, verifier.ExitVerified},
		{"Diverged", lie, []verifier.Anchored{last}, verifier.ExitDiverged},
		{"DivergedAmongOthers", lie, []verifier.Anchored{last, stranger, away}, verifier.ExitDiverged},
		{"OtherKey", honest, []verifier.Anchored{stranger}, verifier.ExitDiverged},
		{"OtherKeyAmongOthers", honest, []verifier.Anchored{away, stranger, last}, verifier.ExitDiverged},
		{"OutOfReach", honest, []verifier.Anchored{away}, verifier.ExitUntrusted},
		{"None", honest, nil, verifier.ExitUntrusted},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := ledgertest.Verify(t, tt.path, key, verifier.Options{Anchored: tt.kept, RequireTrusted: true})
			if r.Exit != tt.want || len(r.Anchored) != len(tt.kept) {
				t.Errorf("got exit %d, want %d: %+v", r.Exit, tt.want, r.Anchored)
			}
		})
	}
}

// A stranger rewrites the ledger and signs it with their own key, which verify then uses. Any
// checkpoint stored elsewhere reveals it.
//
//guarantee:anchor-other-key
func TestForgery_CheckpointOfTheRightKey(t *testing.T) {
	key, own := ledgertest.NewKey(t), ledgertest.NewKey(t)
	all := ledgertest.Notes(t, ledgertest.Write(t, t.TempDir(), key, ledgertest.BigFeed(), 50))
	rewritten := ledgertest.Write(t, t.TempDir(), own, ledgertest.BigFeed(), 50)
	names := []string{ledger.KeyID(ledgertest.VerifierOf(key)), ledger.KeyID(ledgertest.VerifierOf(own))}
	for _, end := range []string{"", "\n", "\n\n", " \r\n"} {
		kept := []byte(all[len(all)-1] + end)
		for name, opts := range map[string]verifier.Options{
			"Trusted": {Trusted: kept}, "File": {Anchored: []verifier.Anchored{{From: "file", Note: kept}}},
			"BesideTheLedger": {Anchored: []verifier.Anchored{{From: "bucket", Note: kept, WithLedger: true}}},
		} {
			r := ledgertest.Verify(t, rewritten, own, opts)
			text := fmt.Sprintf("%+v %+v", r.Trusted, r.Anchored)
			if r.Exit != verifier.ExitDiverged || !strings.Contains(text, names[0]) || !strings.Contains(text, names[1]) {
				t.Errorf("%s ending in %q: got exit %d, %s", name, end, r.Exit, text)
			}
		}
	}
}

// White space at the end of a checkpoint neither hides nor causes a divergence.
//
//guarantee:anchor-other-key
func TestForgery_CheckpointWithWhiteSpace(t *testing.T) {
	key := ledgertest.NewKey(t)
	honest := ledgertest.Write(t, t.TempDir(), key, ledgertest.BigFeed(), 50)
	lie := ledgertest.Write(t, t.TempDir(), key, forged(ledgertest.BigFeed), 50)
	all := ledgertest.Notes(t, honest)
	kept := []byte(all[len(all)-1] + "\n")
	for path, want := range map[string]int{honest: verifier.ExitVerified, lie: verifier.ExitDiverged} {
		for _, opts := range []verifier.Options{{Trusted: kept}, {Anchored: []verifier.Anchored{{Note: kept}}}} {
			opts.RequireTrusted = true
			if r := ledgertest.Verify(t, path, key, opts); r.Exit != want {
				t.Errorf("got exit %d, want %d: %+v %+v", r.Exit, want, r.Trusted, r.Anchored)
			}
		}
	}
}

package ledger

import (
	"context"
	"testing"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// A thief of the key leaves the tree alone and changes what lies beside it.
func TestForgery_StolenKeyBesideTheTree(t *testing.T) {
	key := testKey(t)
	honest := write(t, t.TempDir(), key, bigFeed(), 50)
	all := notes(t, honest)
	trusted := []byte(all[len(all)-1])
	for name, change := range map[string]func(*feed){
		"SeenAgainLeftOut": func(f *feed) {
			n := len(f.messages)
			f.messages = append(f.messages[:n-3:n-3], f.messages[n-1])
		},
		"StoredAtAnotherTime": func(f *feed) { f.messages[3].Stored = f.messages[2].Stored },
		"SeenOnceMore": func(f *feed) {
			again, err := events.Decode(f.messages[0].Data)
			if err != nil {
				t.Fatal(err)
			}
			f.publish("more", again)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := bigFeed()
			change(f)
			lie := write(t, t.TempDir(), key, f, 50)
			if r := verify(t, lie, key, VerifyOptions{}); r.Integrity != Verified {
				t.Fatalf("a forgery with the key itself: got %s, %q", r.Integrity, r.Problems)
			}
			want := ExitDiverged
			if name == "SeenOnceMore" { // behind what was trusted: the ledger went on
				want = ExitIncomplete
			}
			r := verify(t, lie, key, VerifyOptions{Trusted: trusted})
			if r.Exit != want || r.Trusted == nil || r.Trusted.Diverged != (want == ExitDiverged) {
				t.Errorf("got exit %d, want %d: %+v", r.Exit, want, r.Trusted)
			}
		})
	}
}

func TestForgery_TrustedCheckpointOfAnotherLedger(t *testing.T) {
	key := testKey(t)
	path := write(t, t.TempDir(), key, bigFeed(), 50)
	other, err := Open(context.Background(), t.TempDir(), "other", Options{Key: key})
	if err != nil {
		t.Fatal(err)
	}
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	nothing := notes(t, other.Path())[0]
	// Of nothing, so that the root is that of every ledger's beginning.
	r, err := Verify(t.Context(), path, VerifyOptions{Key: verifierOf(key), Trusted: []byte(nothing)})
	if err == nil && r.Exit != ExitDiverged {
		t.Errorf("got exit %d, %+v, want %d", r.Exit, r.Trusted, ExitDiverged)
	}
}

// What sinks kept counts like a checkpoint that was given, if the key signed it.
func TestForgery_KeptCheckpoints(t *testing.T) {
	key := testKey(t)
	honest := write(t, t.TempDir(), key, bigFeed(), 50)
	all := notes(t, honest)
	lie := write(t, t.TempDir(), key, forged(bigFeed), 50)
	last := Kept{From: "bucket", Note: []byte(all[len(all)-1])}
	stranger := Kept{From: "file", Note: []byte(notes(t, write(t, t.TempDir(), testKey(t), bigFeed(), 50))[3])}
	away := Kept{From: "away", Err: context.DeadlineExceeded}
	for _, tt := range []struct {
		name, path string
		kept       []Kept
		want       int
	}{
		{"Agrees", honest, []Kept{last}, ExitVerified},
		{"AgreesBesideOthers", honest, []Kept{away, stranger, last}, ExitVerified},
		{"Diverged", lie, []Kept{last}, ExitDiverged},
		{"DivergedBesideOthers", lie, []Kept{last, stranger, away}, ExitDiverged},
		{"OtherKey", honest, []Kept{stranger}, ExitUntrusted},
		{"OutOfReach", honest, []Kept{away}, ExitUntrusted},
		{"None", honest, nil, ExitUntrusted},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := verify(t, tt.path, key, VerifyOptions{Kept: tt.kept, RequireTrusted: true})
			if r.Exit != tt.want || len(r.Kept) != len(tt.kept) {
				t.Errorf("got exit %d, want %d: %+v", r.Exit, tt.want, r.Kept)
			}
		})
	}
}

package bundle

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// mixed is a feed with every kind of record, such as concurrent runs of several producers, a
// repeated event and quarantined records.
func mixed() *feed {
	f := newFeed()
	f.run("coder/e4", "r1", 30)
	started := f.publish("coder/e4", "r2", events.RunStarted, "", events.RunStartedData{Title: "between"})
	f.publish("coder/e4", "r3", events.RunStarted, "", events.RunStartedData{Title: "beside"})
	f.publish("coder/e4", "r2", events.RunFinished, "", events.RunFinishedData{Success: true})
	f.seal("coder/e4", "r2")
	// Another outbox publishes a run with the same content and seals it.
	f.publish("copier/1", "r2", events.RunStarted, started.ID, events.RunStartedData{Title: "between"})
	f.seal("copier/1", "r2")
	f.add(subjects.Address{Producer: "odd", Run: "r1", Kind: events.Custom}, []byte("\xff\n{not an event"))
	f.run("late/9", "r4", 5)
	return f
}

func TestBundle_IsVerified(t *testing.T) {
	e := mixed().write(t)
	whole, err := verifier.Verify(t.Context(), e.path, verifier.Options{Key: e.key})
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name         string
		selection    ledger.Selection
		completeness verifier.Completeness
		leaves       int64
	}{
		{"Whole", ledger.Selection{}, whole.Completeness, whole.Leaves},
		{"Run", ledger.Selection{Run: "r1"}, verifier.Complete, 35}, // 33 events, the manifest and a quarantined record
		{"RunSeenAgain", ledger.Selection{Run: "r2"}, verifier.Complete, 6},
		{"RunWithoutEnd", ledger.Selection{Run: "r3"}, verifier.Unproven, 2},
		{"Time", ledger.Selection{From: began.Add(5 * time.Second), To: began.Add(9 * time.Second)}, verifier.Unproven, 4},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := check(t, e.bundle(t, tt.selection), CheckOptions{Key: e.key, Tenant: "acme"})
			if r.Integrity != verifier.Verified || r.Completeness != tt.completeness || r.Leaves != tt.leaves {
				t.Errorf("got %s, %s, %d leaves, want %s and %d: %+v",
					r.Integrity, r.Completeness, r.Leaves, tt.completeness, tt.leaves, r)
			}
			if r.OwnKey || r.Checkpoint.Root != whole.Checkpoint.Root {
				t.Errorf("the key or the root is another one: %+v", r)
			}
		})
	}
}

// The report about a bundle of everything equals that of the ledger.
//
//guarantee:bundle
func TestBundle_SaysWhatVerifySays(t *testing.T) {
	e := mixed().write(t)
	want, err := verifier.Verify(t.Context(), e.path, verifier.Options{Key: e.key})
	if err != nil {
		t.Fatal(err)
	}
	got := check(t, e.bundle(t, ledger.Selection{}), CheckOptions{Key: e.key}).Report
	want.Ledger, want.Streams, want.Checkpoints, want.Newest = got.Ledger, got.Streams, got.Checkpoints, got.Newest // a bundle has none of these
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("report (-ledger +bundle):\n%s", diff)
	}
}

//guarantee:bundle
func TestBundle_SameBytes(t *testing.T) {
	e := mixed().write(t)
	for _, s := range []ledger.Selection{{}, {Run: "r2"}} {
		first, err := os.ReadFile(e.bundle(t, s))
		second, err2 := os.ReadFile(e.bundle(t, s))
		if err != nil || err2 != nil || !bytes.Equal(first, second) {
			t.Errorf("%+v: %v, %v: the same selection gave other bytes", s, err, err2)
		}
	}
}

//guarantee:verify-empty
func TestBundle_Nothing(t *testing.T) {
	e := mixed().write(t)
	var out bytes.Buffer
	err := WriteBundle(t.Context(), &out, e.reader, Options{Selection: ledger.Selection{Run: "none"}, Key: e.public})
	if !errors.Is(err, ErrNothing) || out.Len() > 0 {
		t.Errorf("got %v and %d bytes", err, out.Len())
	}
	empty := newFeed().write(t)
	r := check(t, empty.bundle(t, ledger.Selection{}), CheckOptions{Key: empty.key})
	if r.Exit != verifier.ExitIncomplete || r.Completeness != verifier.Empty {
		t.Errorf("a ledger of nothing: %+v", r)
	}
}

//guarantee:verify-bundle-key
func TestCheck_KeyAndTrusted(t *testing.T) {
	f, keys := mixed(), t.TempDir()
	e := f.writeWith(t, keys)
	stranger := newFeed().write(t)
	signed, _, err := e.reader.Signed(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	forked := mixed()
	forked.run("coder/e4", "r9", 2)
	forked.messages[3], forked.messages[4] = forked.messages[4], forked.messages[3]
	forked.messages[3].Sequence, forked.messages[4].Sequence = 4, 5
	fork, _, err := (&feed{messages: forked.messages[:len(f.messages)], now: f.now}).writeWith(t, keys).reader.Signed(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	foreign, _, err := mixed().write(t).reader.Signed(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	path := e.bundle(t, ledger.Selection{Run: "r1"})
	for _, tt := range []struct {
		name string
		opts CheckOptions
		want int
	}{
		{"OwnKey", CheckOptions{}, verifier.ExitVerified},
		{"OtherKey", CheckOptions{Key: stranger.key}, verifier.ExitInvalid},
		{"OtherTenant", CheckOptions{Key: e.key, Tenant: "other"}, verifier.ExitInvalid},
		{"Trusted", CheckOptions{Key: e.key, Trusted: signed, RequireTrusted: true}, verifier.ExitVerified},
		{"NoTrusted", CheckOptions{Key: e.key, RequireTrusted: true}, verifier.ExitUntrusted},
		{"Diverged", CheckOptions{Key: e.key, Trusted: fork}, verifier.ExitDiverged},
		{"TrustedWithWhiteSpace", CheckOptions{Key: e.key, Trusted: append(slices.Clip(signed), '\n')}, verifier.ExitVerified},
		{"TrustedOfOtherKey", CheckOptions{Key: e.key, Trusted: foreign}, verifier.ExitDiverged},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := check(t, path, tt.opts)
			if r.Exit != tt.want || r.OwnKey != (tt.opts.Key == nil) {
				t.Errorf("got exit %d, own key %t, want %d: %+v", r.Exit, r.OwnKey, tt.want, r)
			}
		})
	}
}

func TestCheck_OlderTrusted(t *testing.T) {
	f, keys := mixed(), t.TempDir()
	e := f.writeWith(t, keys)
	older, c, err := (&feed{messages: f.messages[:20], now: f.now}).writeWith(t, keys).reader.Signed(t.Context())
	if err != nil || c.Size != 20 {
		t.Fatal(c.Size, err)
	}
	opts := CheckOptions{Key: e.key, Trusted: older}
	r := check(t, e.bundle(t, ledger.Selection{}), opts)
	if r.Trusted == nil || r.Trusted.Diverged || r.Trusted.Size != 20 {
		t.Errorf("a bundle of everything: %+v", r.Trusted)
	}
	// A bundle of later leaves cannot show the first twenty.
	if r, err := Check(t.Context(), e.bundle(t, ledger.Selection{Run: "r2"}), opts); err == nil {
		t.Errorf("a bundle of a run: %+v", r.Trusted)
	}
}

func TestSpan_Subtrees(t *testing.T) {
	got := span{5, 21}.subtrees()
	want := []subtree{{0, 5}, {1, 3}, {3, 1}, {2, 4}, {0, 20}}
	if !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

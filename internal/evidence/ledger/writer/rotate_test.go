package writer_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func rotated(tb testing.TB, dir string, tenants ...string) *writer.Key {
	tb.Helper()
	r := writer.Rotation{Dir: dir, Tenants: tenants, Order: ledger.Order{Time: ledgertest.Began, By: "jdoe", Reason: "every year"}}
	if _, err := writer.Rotate(r); err != nil {
		tb.Fatal(err)
	}
	return opened(tb, dir)
}

func opened(tb testing.TB, dir string) *writer.Key {
	tb.Helper()
	key, err := writer.OpenKey(dir)
	if err != nil {
		tb.Fatal(err)
	}
	return key
}

func changeTo(tb testing.TB, id string, before, after *writer.Key) string {
	tb.Helper()
	signed, err := ledger.SignKeyChange(ledger.Order{
		Tenant: "acme", Action: events.AuditKey, ID: id, Time: ledgertest.Began, By: "thief", Reason: "mine", Old: before.Public(), Key: after.Public(),
	}, before.Signer(), after.Signer())
	if err != nil {
		tb.Fatal(err)
	}
	return string(signed)
}

func verifiedBy(tb testing.TB, path string, key note.Verifier, kept ...verifier.Anchored) verifier.Report {
	tb.Helper()
	report, err := verifier.Verify(tb.Context(), path, verifier.Options{Key: key, Anchored: kept})
	if err != nil {
		tb.Fatal(err)
	}
	return report
}

type rotation struct {
	dir, ledgers, path string
	feed               *ledgertest.Feed
	keys               []*writer.Key
	kept               [][]byte // newest checkpoint before each change and at the end
}

// rotate creates a ledger and changes its key n times. Each key signs a run and an order to
// erase the previous run.
func rotate(tb testing.TB, n int) *rotation {
	tb.Helper()
	r := &rotation{dir: filepath.Join(tb.TempDir(), "keys"), ledgers: tb.TempDir(), feed: ledgertest.NewFeed("acme")}
	f := r.feed
	r.keys = []*writer.Key{opened(tb, r.dir)}
	for i := 0; ; i++ {
		run, key := "run-"+string(rune('a'+i)), r.keys[i]
		f.Say(run, "secret of "+run)
		r.path = ledgertest.Write(tb, r.ledgers, key, f, 3)
		f.Order(tb, key, ledgertest.Resolved(tb, r.path, ledgertest.EraseRun(run)))
		f.Say("kept", "ls")
		r.path = ledgertest.Write(tb, r.ledgers, key, f, 3)
		r.kept = append(r.kept, []byte(verifiedBy(tb, r.path, ledgertest.VerifierOf(key)).Checkpoint.Note))
		if i == n {
			return r
		}
		next := rotated(tb, r.dir, "acme")
		r.keys = append(r.keys, next)
		r.feed.Changes(next, i)
		r.path = ledgertest.Write(tb, r.ledgers, next, f, 3)
	}
}

//guarantee:rotate
func TestRotate(t *testing.T) {
	for _, n := range []int{1, 3} {
		r := rotate(t, n)
		for i, key := range r.keys {
			var kept []verifier.Anchored
			for _, signed := range r.kept {
				kept = append(kept, verifier.Anchored{From: "file", Note: signed})
			}
			report := verifiedBy(t, r.path, ledgertest.VerifierOf(key), kept...)
			if report.Integrity != verifier.Verified || report.Redacted.Erased != int64(2*(n+1)) || len(report.Keys) != n {
				t.Fatalf("%d changes, key %d: %s, %d erased, keys %+v: %v", n, i, report.Integrity, report.Redacted.Erased, report.Keys, report.Problems)
			}
			if report.Checkpoint.Key != r.keys[n].ID() {
				t.Errorf("key %d: signed by %s, want %s", i, report.Checkpoint.Key, r.keys[n].ID())
			}
			for j, k := range report.Anchored {
				if k.Unusable || k.Diverged {
					t.Errorf("key %d: kept checkpoint %d: %+v", i, j, k)
				}
			}
			for j, k := range report.Keys {
				if k.From != r.keys[j].ID() || k.To != r.keys[j+1].ID() || k.Effect != ledger.EffectDone || k.By != "jdoe" {
					t.Errorf("change %d: %+v", j, k)
				}
			}
		}
		stranger := verifiedBy(t, r.path, ledgertest.VerifierOf(ledgertest.NewKey(t)))
		if stranger.Integrity != verifier.Invalid {
			t.Errorf("%d changes: a stranger's key verified it", n)
		}
		last := 0
		for _, p := range stranger.Problems {
			var number int
			if _, err := fmt.Sscanf(p, "checkpoint %d: ", &number); err == nil && number < last {
				t.Errorf("checkpoint %d is behind checkpoint %d", number, last)
			}
			last = max(last, number)
		}
	}
}

// The newest key signs a rebuilt ledger from the first checkpoint on, and the orders of older
// keys are executed.
//
//guarantee:rotate
func TestRotate_BuiltAgain(t *testing.T) {
	r := rotate(t, 3)
	want := verifiedBy(t, r.path, ledgertest.VerifierOf(r.keys[3]))
	dir := t.TempDir()
	path := ledgertest.Write(t, dir, r.keys[3], r.feed, 5)
	for i, key := range r.keys {
		got := verifiedBy(t, path, ledgertest.VerifierOf(key))
		if got.Integrity != verifier.Verified || got.Checkpoint.Root != want.Checkpoint.Root || got.Redacted.Erased != want.Redacted.Erased {
			t.Errorf("key %d: %s, root %s, %d erased, want %s, %d: %v", i, got.Integrity, got.Checkpoint.Root, got.Redacted.Erased,
				want.Checkpoint.Root, want.Redacted.Erased, got.Problems)
		}
	}
	if found := ledgertest.Remains(t, dir, []byte("secret of run-a"), []byte("secret of run-d")); len(found) > 0 {
		t.Errorf("what was erased came back: %v", found)
	}
}

//guarantee:rotate-stolen
func TestRotate_StolenOldKey(t *testing.T) {
	r := rotate(t, 1)
	old, key := r.keys[0], r.keys[1]
	thief := opened(t, filepath.Join(t.TempDir(), "keys"))
	r.feed.Say("run-x", "evidence")
	path := ledgertest.Write(t, r.ledgers, key, r.feed, 3)
	r.feed.Order(t, old, ledgertest.Resolved(t, path, ledgertest.EraseRun("run-x")))
	r.feed.Signed(changeTo(t, "x", old, thief))
	r.feed.Order(t, thief, ledgertest.Resolved(t, path, ledgertest.EraseRun("run-x")))
	// A change from the thief's key to the old key has no effect.
	r.feed.Signed(changeTo(t, "y", thief, old))
	r.feed.Say("kept", "ls")
	path = ledgertest.Write(t, r.ledgers, key, r.feed, 3)
	for i, k := range r.keys {
		got := verifiedBy(t, path, ledgertest.VerifierOf(k))
		if got.Integrity != verifier.Verified || got.Redacted.Erased != 4 || got.PowerlessCount != 2 || len(got.Keys) != 1 {
			t.Errorf("key %d: %s, %d erased, %d powerless: %v", i, got.Integrity, got.Redacted.Erased, got.PowerlessCount, got.Problems)
		}
	}
	if len(ledgertest.Remains(t, r.ledgers, []byte("evidence"))) == 0 {
		t.Error("the thief has erased evidence")
	}
	all := ledgertest.Notes(t, path)
	for name, who := range map[string]*writer.Key{"old key": old, "thief's": thief} {
		signed, err := ledgertest.Newest(t, path).Sign(who.Signer())
		if err != nil {
			t.Fatal(err)
		}
		forged := ledgertest.PutNotes(t, path, append(slices.Clone(all[:len(all)-1]), string(signed)))
		for i, k := range r.keys {
			if got := verifiedBy(t, forged, ledgertest.VerifierOf(k)); got.Integrity != verifier.Invalid {
				t.Errorf("%s: key %d: a checkpoint that it signed counts", name, i)
			}
		}
		late := verifiedBy(t, path, ledgertest.VerifierOf(key), verifier.Anchored{From: "bucket", Note: signed})
		// The checkpoint is from another ledger, in which that key is valid.
		if !late.Anchored[0].Diverged || late.Exit != verifier.ExitDiverged {
			t.Errorf("%s: its checkpoint agrees: %+v", name, late.Anchored[0])
		}
	}
}

// A ledger without its current key stops until the key is in the folder, or another key
// replaced the one there.
//
//guarantee:rotate-absent
func TestRotate_KeyIsAbsent(t *testing.T) {
	r := rotate(t, 0)
	thief := opened(t, filepath.Join(t.TempDir(), "keys"))
	r.feed.Signed(changeTo(t, "x", r.keys[0], thief))
	l, err := writer.Open(t.Context(), r.ledgers, "acme", writer.Options{Key: r.keys[0], Now: r.feed.At})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := l.Append(t.Context(), ledgertest.Stream, r.feed.Messages); !errors.Is(err, writer.ErrKey) || !errors.Is(err, ledger.ErrDamaged) {
		t.Errorf("append: got %v, want %v", err, writer.ErrKey)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	key := rotated(t, r.dir, "acme")
	r.feed.Changes(key, 0)
	path := ledgertest.Write(t, r.ledgers, key, r.feed, 3)
	got := verifiedBy(t, path, ledgertest.VerifierOf(key))
	if got.Integrity != verifier.Verified || len(got.Keys) != 2 || got.Keys[0].Effect != ledger.EffectVoid || got.Keys[1].Effect != ledger.EffectDone {
		t.Errorf("%s, keys %+v: %v", got.Integrity, got.Keys, got.Problems)
	}
	if got := verifiedBy(t, path, ledgertest.VerifierOf(thief)); got.Integrity != verifier.Invalid {
		t.Error("the thief's key verified it")
	}
}

// No order can change the key of this ledger.
//
//guarantee:rotate
func TestRotate_WithoutName(t *testing.T) {
	dir, keys := t.TempDir(), filepath.Join(t.TempDir(), "keys")
	f := ledgertest.NewFeed("")
	f.Say("r", "ls")
	ledgertest.Write(t, dir, opened(t, keys), f, 2)
	key := rotated(t, keys, "")
	f.Say("r", "ls")
	if got := verifiedBy(t, ledgertest.Write(t, dir, key, f, 2), ledgertest.VerifierOf(key)); got.Integrity != verifier.Verified {
		t.Errorf("%s: %v", got.Integrity, got.Problems)
	}
}

//guarantee:rotate-killed
func TestRotate_Crash(t *testing.T) {
	stop := errors.New("stop")
	for _, at := range []string{"made", "signed", "retired", "installed"} {
		t.Run(at, func(t *testing.T) {
			keys, ledgers, f := filepath.Join(t.TempDir(), "keys"), t.TempDir(), ledgertest.NewFeed("acme")
			first := opened(t, keys)
			f.Say("r", "ls")
			ledgertest.Write(t, ledgers, first, f, 2)
			r := writer.Rotation{Dir: keys, Tenants: []string{"acme"}, Order: ledger.Order{Time: ledgertest.Began, By: "jdoe", Reason: "every year"}}
			step := func(name string) error {
				if name == at {
					return stop
				}
				return nil
			}
			if _, err := writer.Rotate(r.WithStep(step)); !errors.Is(err, stop) {
				t.Fatal(err)
			}
			between := opened(t, keys)
			f.Changes(between, 0)
			f.Say("r", "ls")
			if got := verifiedBy(t, ledgertest.Write(t, ledgers, between, f, 2), ledgertest.VerifierOf(between)); got.Integrity != verifier.Verified {
				t.Fatalf("%s: %v", got.Integrity, got.Problems)
			}
			key := rotated(t, keys, "acme", "later")
			f.Changes(key, between.Changed())
			f.Say("r", "ls")
			for _, k := range []*writer.Key{first, key} {
				if got := verifiedBy(t, ledgertest.Write(t, ledgers, key, f, 2), ledgertest.VerifierOf(k)); got.Integrity != verifier.Verified {
					t.Errorf("%s: %v", got.Integrity, got.Problems)
				}
			}
			if info, err := os.Stat(filepath.Join(keys, "retired", first.ID()[len("hooktrail+"):]+".key")); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("the old key: %v, %v", info, err)
			}
			if _, err := os.Stat(filepath.Join(keys, "next.key")); !errors.Is(err, os.ErrNotExist) {
				t.Error("next.key is left")
			}
		})
	}
}

func TestRotate_OrderTooLong(t *testing.T) {
	keys := filepath.Join(t.TempDir(), "keys")
	before := opened(t, keys)
	_, err := writer.Rotate(writer.Rotation{Dir: keys, Tenants: []string{"acme"}, Order: ledger.Order{
		Time: ledgertest.Began, By: "jdoe", Reason: strings.Repeat("long ", ledger.MaxOrderBytes/5),
	}})
	if err == nil {
		t.Error("it was given")
	}
	if after := opened(t, keys); after.ID() != before.ID() {
		t.Errorf("got the key %s, want %s", after.ID(), before.ID())
	}
}

//guarantee:rotate-stolen
func TestRotate_Tampered(t *testing.T) {
	r := rotate(t, 2)
	all := ledgertest.Notes(t, r.path)
	signed := func(c ledger.Checkpoint, key *writer.Key) string {
		t.Helper()
		text, err := c.Sign(key.Signer())
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	newest := ledgertest.Newest(t, r.path)
	for name, statements := range map[string][]string{
		"RowGone":      {"DELETE FROM orders WHERE action = 'key' AND leaf = (SELECT min(leaf) FROM orders WHERE action = 'key')"},
		"AllRowsGone":  {"DELETE FROM orders WHERE action = 'key'"},
		"Void":         {"UPDATE orders SET effect = 'void' WHERE action = 'key'"},
		"OtherAction":  {"UPDATE orders SET action = 'hold' WHERE action = 'key'"},
		"RecordGone":   {"DELETE FROM payloads WHERE leaf IN (SELECT leaf FROM orders WHERE action = 'key')"},
		"MadeUp":       {"UPDATE orders SET action = 'key' WHERE action = 'erase'"},
		"RecordsMoved": {"UPDATE payloads SET bytes = (SELECT bytes FROM payloads WHERE leaf = (SELECT max(leaf) FROM orders WHERE action = 'key')) WHERE leaf = (SELECT min(leaf) FROM orders WHERE action = 'key')"},
	} {
		path, ok := ledgertest.Attack(t, r.path, statements...)
		if !ok {
			t.Fatalf("%s: the attack did not work", name)
		}
		for i, key := range r.keys {
			if got := verifiedBy(t, path, ledgertest.VerifierOf(key)); got.Integrity != verifier.Invalid {
				t.Errorf("%s: key %d: %s", name, i, got.Integrity)
			}
		}
	}
	for name, key := range map[string]*writer.Key{"First": r.keys[0], "Second": r.keys[1], "Stranger": ledgertest.NewKey(t)} {
		path := ledgertest.PutNotes(t, r.path, append(slices.Clone(all[:len(all)-1]), signed(newest, key)))
		for i, by := range r.keys {
			if got := verifiedBy(t, path, ledgertest.VerifierOf(by)); got.Integrity != verifier.Invalid {
				t.Errorf("signed by %s: key %d: %s", name, i, got.Integrity)
			}
		}
	}
}

// For any history, the verifier agrees with the writer for each key.
//
//guarantee:rotate
func TestRotate_AnyHistory(t *testing.T) {
	for seed := range uint64(6) {
		random := rand.New(rand.NewPCG(seed, 1))
		dir, ledgers, f := filepath.Join(t.TempDir(), "keys"), t.TempDir(), ledgertest.NewFeed("acme")
		keys := []*writer.Key{opened(t, dir)}
		erased := int64(0)
		for i := range 3 + random.IntN(6) {
			run := fmt.Sprintf("run-%d", i)
			f.Say(run, "text")
			key := keys[len(keys)-1]
			path := ledgertest.Write(t, ledgers, key, f, 4)
			switch random.IntN(4) {
			case 0:
				next := rotated(t, dir, "acme")
				f.Changes(next, len(keys)-1)
				keys = append(keys, next)
			case 1:
				f.Order(t, key, ledgertest.Resolved(t, path, ledgertest.EraseRun(run)))
				erased += 2
			case 2:
				old := random.IntN(len(keys))
				f.Order(t, keys[old], ledgertest.Resolved(t, path, ledgertest.EraseRun(run)))
				if old == len(keys)-1 {
					erased += 2
				}
			case 3: // earlier changes arrive again
				f.Changes(key, 0)
			}
		}
		f.Say("last", "text")
		newest := keys[len(keys)-1]
		path := ledgertest.Write(t, ledgers, newest, f, 4)
		again := ledgertest.Write(t, t.TempDir(), newest, f, 1+random.IntN(9))
		for i, key := range keys {
			one, other := verifiedBy(t, path, ledgertest.VerifierOf(key)), verifiedBy(t, again, ledgertest.VerifierOf(key))
			if one.Integrity != verifier.Verified || other.Integrity != verifier.Verified || one.Checkpoint.Root != other.Checkpoint.Root {
				t.Fatalf("seed %d, key %d of %d: %s %v, again %s %v", seed, i, len(keys), one.Integrity, one.Problems, other.Integrity, other.Problems)
			}
			if one.Redacted.Erased != erased || other.Redacted.Erased != erased || len(one.Keys) != len(keys)-1 {
				t.Fatalf("seed %d, key %d of %d: %d and %d erased, want %d; changes %+v", seed, i, len(keys), one.Redacted.Erased, other.Redacted.Erased, erased, one.Keys)
			}
		}
	}
}

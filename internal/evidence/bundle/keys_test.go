package bundle

import (
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/evidence/bundle/bundletest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// twoKeys returns a ledger of two erased runs. The order about the second is signed by a new key.
// old is the replaced key.
func twoKeys(tb testing.TB) (e evidence, old note.Verifier) {
	tb.Helper()
	keys, dir, f := filepath.Join(tb.TempDir(), "keys"), tb.TempDir(), newFeed()
	f.run("coder/e4", "r-1", 5, spoken)
	f.run("coder/e4", "r-2", 5, spoken)
	f.run("coder/e4", "r-3", 5)
	open := func() (*writer.Key, note.Verifier) {
		tb.Helper()
		key, err := writer.OpenKey(keys)
		if err != nil {
			tb.Fatal(err)
		}
		v, _, err := ledger.ReadVerifier(keys)
		if err != nil {
			tb.Fatal(err)
		}
		return key, v
	}
	write := func(key *writer.Key) {
		tb.Helper()
		l, err := writer.Open(tb.Context(), dir, "acme", writer.Options{Key: key, Now: func() time.Time { return f.now.Add(time.Second) }})
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := l.Append(tb.Context(), ledger.Stream{Epoch: 1, Created: began.Add(-time.Hour)}, f.messages); err != nil {
			tb.Fatal(err)
		}
		if err := l.Close(); err != nil {
			tb.Fatal(err)
		}
	}
	tell := func(action events.AuditAction, signed string) {
		f.publish("auditor/a1", "", events.AuditAccessed, "", events.AuditAccessedData{Action: action, Order: signed})
		f.manifest("auditor/a1")
	}
	erase := func(key *writer.Key, run string) {
		tb.Helper()
		r, err := ledger.OpenTenant(dir, "acme")
		if err != nil {
			tb.Fatal(err)
		}
		defer r.Close()
		o, err := r.Orders().Resolve(tb.Context(), ledger.Order{
			Tenant: "acme", Action: events.AuditErase, ID: "order-" + run, Time: f.now, By: "jdoe", Reason: "subject request",
			Selection: ledger.OrderSelection{Run: run},
		})
		if err != nil {
			tb.Fatal(err)
		}
		signed, err := key.Sign(o)
		if err != nil {
			tb.Fatal(err)
		}
		tell(events.AuditErase, string(signed))
	}
	first, old := open()
	write(first)
	erase(first, "r-1")
	write(first)
	rotation := writer.Rotation{Dir: keys, Tenants: []string{"acme"}, Order: ledger.Order{Time: f.now, By: "jdoe", Reason: "every year"}}
	if _, err := writer.Rotate(rotation); err != nil {
		tb.Fatal(err)
	}
	second, verifier := open()
	tell(events.AuditKey, second.Changes("acme", 0)[0])
	write(second)
	erase(second, "r-2")
	write(second)
	r, err := ledger.OpenTenant(dir, "acme")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := r.Close(); err != nil {
			tb.Error(err)
		}
	})
	path, err := ledger.Path(dir, "acme")
	if err != nil {
		tb.Fatal(err)
	}
	return evidence{reader: r, key: verifier, public: second.Public(), path: path, signer: second.Signer(), old: first.Signer()}, old
}

// A bundle verifies with the ledger's new key and the replaced key, and no other.
//
//guarantee:rotate
func TestBundle_KeyChanged(t *testing.T) {
	e, old := twoKeys(t)
	for name, s := range map[string]ledger.Selection{
		"Whole": {}, "ErasedByOldKey": {Run: "r-1"}, "ErasedByNewKey": {Run: "r-2"}, "NothingErased": {Run: "r-3"}, "Range": {From: began},
	} {
		t.Run(name, func(t *testing.T) {
			path := e.bundle(t, s)
			for id, key := range map[string]note.Verifier{"new": e.key, "old": old} {
				r := check(t, path, CheckOptions{Key: key})
				if r.Integrity != verifier.Verified || r.Checkpoint.Key != ledger.KeyID(e.key) {
					t.Errorf("%s key: %s by %s: %v", id, r.Integrity, r.Checkpoint.Key, r.Problems)
				}
				want := int64(0)
				switch {
				case s.Run == "":
					want = 14
				case s.Run != "r-3":
					want = 7
				}
				if r.Redacted.Erased != want {
					t.Errorf("%s key: %d erased, want %d", id, r.Redacted.Erased, want)
				}
				if name != "Range" && len(r.Keys) != 1 {
					t.Errorf("%s key: changes %+v", id, r.Keys)
				}
			}
			stranger := newFeed().write(t)
			if r := check(t, path, CheckOptions{Key: stranger.key}); r.Integrity != verifier.Invalid {
				t.Error("a stranger's key verified it")
			}
		})
	}
}

func TestBundle_KeyOrderUnreadable(t *testing.T) {
	e, _ := twoKeys(t)
	path := e.bundle(t, ledger.Selection{})
	leaf := check(t, path, CheckOptions{Key: e.key}).Keys[0].Leaf
	for file, edit := range map[string]func(line string) string{
		leavesFile:  func(line string) string { return line[1:] },
		recordsFile: func(line string) string { return "x" + line },
	} {
		o := open(t, path)
		lines := strings.Split(o.files[file], "\n")
		lines[leaf] = edit(lines[leaf])
		o.files[file] = strings.Join(lines, "\n")
		r := check(t, o.close(t), CheckOptions{Key: e.key})
		if r.Integrity != verifier.Invalid || !strings.Contains(strings.Join(r.Problems, "\n"), file) {
			t.Errorf("%s: %s, %q", file, r.Integrity, r.Problems)
		}
	}
}

// A thief of a replaced key cannot sign selections of later checkpoints.
//
//guarantee:verify-bundle-selection
func TestBundle_SelectionByReplacedKey(t *testing.T) {
	e, old := twoKeys(t)
	path := e.bundle(t, ledger.Selection{Run: "r-3"})
	for name, key := range map[string]note.Verifier{"new": e.key, "old": old} {
		if r := check(t, path, CheckOptions{Key: key}); r.Exit != verifier.ExitVerified || !r.Attested {
			t.Errorf("%s key: exit %d, %q", name, r.Exit, r.Problems)
		}
		o := bundletest.Open(t, path)
		o.Resign(e.old)
		if r := check(t, save(t, o.Pack()), CheckOptions{Key: key}); r.Exit != verifier.ExitInvalid {
			t.Errorf("signed by the replaced key, checked with the %s key: exit %d", name, r.Exit)
		}
	}
	opts := Options{Key: e.public, Signer: e.old}
	if err := WriteBundle(t.Context(), io.Discard, e.reader, opts); !errors.Is(err, ErrOtherKey) {
		t.Errorf("export with the replaced key: %v", err)
	}
}

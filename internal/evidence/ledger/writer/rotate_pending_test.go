package writer_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
)

// A thief of the old key has the data directory before the change is recorded.
//
//guarantee:rotate-pending
func TestRotate_PendingStolenOldKey(t *testing.T) {
	dir, ledgers, feed := filepath.Join(t.TempDir(), "keys"), t.TempDir(), ledgertest.NewFeed("acme")
	old := opened(t, dir)
	feed.Say("run-a", "ls")
	path := ledgertest.Write(t, ledgers, old, feed, 3)
	notes := ledgertest.Notes(t, path)
	if _, err := writer.Rotate(writer.Rotation{
		Dir: dir, Tenants: []string{"acme"}, Newest: map[string][]byte{"acme": []byte(notes[len(notes)-1])},
		Order: ledger.Order{Time: ledgertest.Began, By: "jdoe", Reason: "stolen"},
	}); err != nil {
		t.Fatal(err)
	}
	next := opened(t, dir)
	verify := func(path string) verifier.Report {
		t.Helper()
		r, err := verifier.Verify(t.Context(), path, verifier.Options{Key: ledgertest.VerifierOf(next), Changes: ledger.ReadRotations(dir)})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	if r := verify(path); r.Integrity != verifier.Verified || len(r.PendingKeys) != 1 || r.Checkpoint.Key != next.ID() {
		t.Fatalf("pending: %s, %+v: %v", r.Integrity, r.PendingKeys, r.Problems)
	}
	another := ledgertest.NewFeed("acme")
	another.Say("run-a", "rm")
	if r := verify(ledgertest.Write(t, t.TempDir(), old, another, 3)); r.Integrity != verifier.Invalid {
		t.Errorf("another history: %s", r.Integrity)
	}
	copied := t.TempDir()
	if err := os.CopyFS(copied, os.DirFS(ledgers)); err != nil {
		t.Fatal(err)
	}
	feed.Say("run-b", "forged")
	if r := verify(ledgertest.Write(t, copied, old, feed, 3)); r.Integrity != verifier.Invalid {
		t.Errorf("continued with the old key: %s", r.Integrity)
	}
	if r := verify(ledgertest.Write(t, ledgers, next, feed, 3)); r.Integrity != verifier.Verified {
		t.Errorf("continued with the new key: %s: %v", r.Integrity, r.Problems)
	}
}

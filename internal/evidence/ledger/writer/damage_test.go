package writer_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
)

//guarantee:verify-offline-change
func TestLedger_NeverSignsWhatWasChanged(t *testing.T) {
	key, f := ledgertest.NewKey(t), ledgertest.BigFeed()
	path := ledgertest.Write(t, t.TempDir(), key, f, 50)
	for _, s := range []string{
		"DELETE FROM leaves WHERE leaf = (SELECT max(leaf) FROM leaves)",
		"UPDATE hashes SET bytes = randomblob(length(bytes))",
		"DELETE FROM checkpoints WHERE checkpoint = (SELECT max(checkpoint) FROM checkpoints)",
		"UPDATE checkpoints SET note = replace(note, 'hooktrail/acme', 'hooktrail/acmE')",
		"DELETE FROM seen",
		"DELETE FROM checkpoints",
	} {
		to, ok := ledgertest.Attack(t, path, s)
		if !ok {
			t.Fatalf("%s: the attack did not work", s)
		}
		dir := filepath.Join(filepath.Dir(to), "ledger")
		if err := os.MkdirAll(filepath.Join(dir, "acme"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(to, filepath.Join(dir, "acme", ledger.FileName)); err != nil {
			t.Fatal(err)
		}
		if l, err := writer.Open(t.Context(), dir, "acme", writer.Options{Key: key}); !errors.Is(err, ledger.ErrDamaged) {
			t.Errorf("%s: got %v, %v", s, l, err)
		}
	}
	if l, err := writer.Open(t.Context(), filepath.Dir(filepath.Dir(path)), "acme", writer.Options{Key: ledgertest.NewKey(t)}); !errors.Is(err, ledger.ErrDamaged) {
		t.Errorf("another key: got %v, %v", l, err)
	}
}

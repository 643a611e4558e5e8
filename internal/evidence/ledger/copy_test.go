package ledger_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

func TestCopy(t *testing.T) {
	key, f := ledgertest.NewKey(t), ledgertest.NewFeed("acme")
	f.Run("coder", "r1", 5)
	path := ledgertest.Write(t, t.TempDir(), key, f, 3)
	out := filepath.Join(t.TempDir(), "copy.db")
	if err := ledger.Copy(t.Context(), path, out); err != nil {
		t.Fatal(err)
	}
	r := ledgertest.Verify(t, out, key, verifier.Options{})
	ledgertest.WantVerdicts(t, r, verifier.Verified, verifier.Complete)
	if want := ledgertest.Verify(t, path, key, verifier.Options{}); r.Checkpoint.Note != want.Checkpoint.Note || r.Checkpoints != want.Checkpoints {
		t.Errorf("got %+v, want %+v", r.Checkpoint, want.Checkpoint)
	}
	if info, err := os.Stat(out); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v", info, err)
	}
	if err := ledger.Copy(t.Context(), path, out); err == nil {
		t.Error("a file that is there was replaced")
	}
	ledgertest.WantVerdicts(t, ledgertest.Verify(t, out, key, verifier.Options{}), verifier.Verified, verifier.Complete)
	none := filepath.Join(t.TempDir(), "none.db")
	if err := ledger.Copy(t.Context(), filepath.Join(t.TempDir(), "missing"), none); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of nothing: got %v", err)
	}
	if _, err := os.Stat(none); !errors.Is(err, os.ErrNotExist) {
		t.Error("a file was left")
	}
}

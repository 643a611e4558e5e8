package ledger

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// A copy is the same ledger, whole or not there.
func TestCopy(t *testing.T) {
	key, f := testKey(t), newFeed("acme")
	f.run("coder", "r1", 5)
	path := write(t, t.TempDir(), key, f, 3)
	out := filepath.Join(t.TempDir(), "copy.db")
	if err := Copy(t.Context(), path, out); err != nil {
		t.Fatal(err)
	}
	r := verify(t, out, key, VerifyOptions{})
	wantVerdicts(t, r, Verified, Complete)
	if want := verify(t, path, key, VerifyOptions{}); r.Checkpoint.Note != want.Checkpoint.Note || r.Checkpoints != want.Checkpoints {
		t.Errorf("got %+v, want %+v", r.Checkpoint, want.Checkpoint)
	}
	if info, err := os.Stat(out); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("got %v, %v", info, err)
	}
	if err := Copy(t.Context(), path, out); err == nil {
		t.Error("a file that is there was replaced")
	}
	wantVerdicts(t, verify(t, out, key, VerifyOptions{}), Verified, Complete)
	none := filepath.Join(t.TempDir(), "none.db")
	if err := Copy(t.Context(), filepath.Join(t.TempDir(), "missing"), none); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("of nothing: got %v", err)
	}
	if _, err := os.Stat(none); !errors.Is(err, os.ErrNotExist) {
		t.Error("a file was left")
	}
}

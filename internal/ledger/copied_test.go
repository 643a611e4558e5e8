package ledger

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

// TestReader_CopyWithItsLog reads a copy of a ledger that was in use, in a
// folder that cannot be written to.
func TestReader_CopyWithItsLog(t *testing.T) {
	f, key, dir := bigFeed(), testKey(t), t.TempDir()
	l, err := Open(t.Context(), dir, "acme", Options{Key: key, Now: f.at})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := l.Append(t.Context(), stream, f.messages); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), FileName)
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(l.Path() + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to+suffix, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, folder, err := OpenCopied(to)
	if err != nil {
		t.Fatal(err)
	}
	n, err := queryInt(c.conn, "SELECT count(*) FROM leaves")
	if err != nil || n != l.Newest().Size {
		t.Errorf("got %d leaves, %v, want %d", n, err, l.Newest().Size)
	}
	if err := c.close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the copy is still there: %v", err)
	}
	wantVerdicts(t, verify(t, to, key, VerifyOptions{}), Verified, Complete)
}

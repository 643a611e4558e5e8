package ledger_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
)

// This is a copy of a ledger in use, in a read-only folder.
func TestReader_CopyWithItsLog(t *testing.T) {
	f, key, dir := ledgertest.BigFeed(), ledgertest.NewKey(t), t.TempDir()
	l, err := writer.Open(t.Context(), dir, "acme", writer.Options{Key: key, Now: f.At})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if _, err := l.Append(t.Context(), ledgertest.Stream, f.Messages); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), ledger.FileName)
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(l.Path() + suffix)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(to+suffix, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	c, folder, err := ledger.OpenCopied(to)
	if err != nil {
		t.Fatal(err)
	}
	n, err := sqlitetx.Int(c.Conn, "SELECT count(*) FROM leaves")
	if err != nil || n != l.Newest().Size {
		t.Errorf("got %d leaves, %v, want %d", n, err, l.Newest().Size)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(folder); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the copy is still there: %v", err)
	}
	ledgertest.WantVerdicts(t, ledgertest.Verify(t, to, key, verifier.Options{}), verifier.Verified, verifier.Complete)
}

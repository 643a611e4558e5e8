package ledgertest

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
)

// NewKey creates a signing key in a new folder.
func NewKey(tb testing.TB) *writer.Key {
	tb.Helper()
	k, err := writer.OpenKey(filepath.Join(tb.TempDir(), "keys"))
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

// VerifierOf returns the verifier of a key.
func VerifierOf(key *writer.Key) note.Verifier {
	v, _, err := ledger.ParseVerifier(key.Public())
	if err != nil {
		panic(err)
	}
	return v
}

// Write appends the messages of f to a ledger below dir, in batches of the given size, and returns
// the path of the ledger.
func Write(tb testing.TB, dir string, key *writer.Key, f *Feed, batch int) string {
	tb.Helper()
	l, err := writer.Open(context.Background(), dir, f.Tenant, writer.Options{Key: key, Now: f.At})
	if err != nil {
		tb.Fatal(err)
	}
	for rest := f.Messages; len(rest) > 0; {
		n := min(batch, len(rest))
		if _, err := l.Append(context.Background(), Stream, rest[:n]); err != nil {
			tb.Fatal(err)
		}
		rest = rest[n:]
	}
	if err := l.Close(); err != nil {
		tb.Fatal(err)
	}
	return l.Path()
}

// Leaves returns all records of a ledger.
func Leaves(tb testing.TB, path string) []ledger.Entry {
	tb.Helper()
	r, err := ledger.OpenReader(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = r.Close() }() // it was read only
	var all []ledger.Entry
	for e, err := range r.After(context.Background(), -1) {
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// Newest returns the newest checkpoint of a ledger.
func Newest(tb testing.TB, path string) ledger.Checkpoint {
	tb.Helper()
	r, err := ledger.OpenReader(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = r.Close() }() // it was read only
	c, err := r.Newest(context.Background())
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// CopyFile copies the file of a closed ledger to a new folder, and returns the path of the copy.
func CopyFile(tb testing.TB, path string) string {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	to := filepath.Join(tb.TempDir(), ledger.FileName)
	if err := os.WriteFile(to, data, 0o600); err != nil {
		tb.Fatal(err)
	}
	return to
}

// AppendAll appends messages as one batch.
func AppendAll(tb testing.TB, l *writer.Ledger, s ledger.Stream, messages []ledger.Message) {
	tb.Helper()
	if _, err := l.Append(tb.Context(), s, messages); err != nil {
		tb.Fatal(err)
	}
}

package ledger

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/mod/sumdb/note"
)

// testKey makes a signing key in a folder of its own.
func testKey(tb testing.TB) *Key {
	tb.Helper()
	k, err := OpenKey(filepath.Join(tb.TempDir(), "keys"))
	if err != nil {
		tb.Fatal(err)
	}
	return k
}

// verifierOf returns the verifier of a key.
func verifierOf(key *Key) note.Verifier {
	v, _, err := ParseVerifier(key.Public())
	if err != nil {
		panic(err)
	}
	return v
}

// write appends the messages of f to a ledger below dir, batch by batch.
func write(tb testing.TB, dir string, key *Key, f *feed, batch int) string {
	tb.Helper()
	l, err := Open(context.Background(), dir, f.tenant, Options{Key: key, Now: f.at})
	if err != nil {
		tb.Fatal(err)
	}
	for rest := f.messages; len(rest) > 0; {
		n := min(batch, len(rest))
		if _, err := l.Append(context.Background(), stream, rest[:n]); err != nil {
			tb.Fatal(err)
		}
		rest = rest[n:]
	}
	if err := l.Close(); err != nil {
		tb.Fatal(err)
	}
	return l.Path()
}

// leaves returns all entries of a ledger.
func leaves(tb testing.TB, path string) []Entry {
	tb.Helper()
	r, err := OpenReader(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer r.Close()
	var all []Entry
	for e, err := range r.After(context.Background(), -1) {
		if err != nil {
			tb.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

// root returns the newest checkpoint of a ledger.
func root(tb testing.TB, path string) Checkpoint {
	tb.Helper()
	r, err := OpenReader(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer r.Close()
	c, err := r.Newest(context.Background())
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

// copyLedger copies a closed ledger into a folder of its own.
func copyLedger(tb testing.TB, path string) string {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	to := filepath.Join(tb.TempDir(), FileName)
	if err := os.WriteFile(to, data, 0o600); err != nil {
		tb.Fatal(err)
	}
	return to
}

// appendAll appends messages as one batch.
func appendAll(tb testing.TB, l *Ledger, s Stream, messages []Message) {
	tb.Helper()
	if _, err := l.Append(tb.Context(), s, messages); err != nil {
		tb.Fatal(err)
	}
}

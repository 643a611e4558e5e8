package gauntlet

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
)

// key is a stolen signing key.
type key struct {
	*writer.Key

	signer   note.Signer
	verifier note.Verifier
}

func openKey(tb testing.TB, dir string) *key {
	tb.Helper()
	own, err := writer.OpenKey(dir)
	if err != nil {
		tb.Fatal(err)
	}
	secret, err := os.ReadFile(filepath.Join(dir, "ledger.key"))
	if err != nil {
		tb.Fatal(err)
	}
	k := &key{Key: own}
	if k.signer, err = note.NewSigner(strings.TrimSpace(string(secret))); err != nil {
		tb.Fatal(err)
	}
	if k.verifier, err = ledger.ParseKey(own.Public()); err != nil {
		tb.Fatal(err)
	}
	return k
}

package ledger

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/note"
)

// VerifierFile is the file of the verifier key beside the signing key.
const VerifierFile = "ledger.pub"

// ReadVerifier returns the verifier key in dir, and its text.
func ReadVerifier(dir string) (note.Verifier, string, error) {
	text, err := os.ReadFile(filepath.Join(dir, VerifierFile))
	if err != nil {
		return nil, "", fmt.Errorf("verifier key: %w", err)
	}
	return ParseVerifier(string(text))
}

// ParseVerifier reads a verifier key as [writer.Key.Public] returns it.
func ParseVerifier(text string) (note.Verifier, string, error) {
	text = strings.TrimSpace(text)
	v, err := note.NewVerifier(text)
	if err != nil {
		return nil, "", fmt.Errorf("verifier key: %w", err)
	}
	return v, text, nil
}

// KeyID names a key in reports: "hooktrail+8f3c1a2b".
func KeyID(v note.Verifier) string { return fmt.Sprintf("%s+%08x", v.Name(), v.KeyHash()) }

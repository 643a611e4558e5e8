// Package statement signs statements about a ledger with the ledger's key and verifies them.
//
// A statement is a C2SP signed note with exactly one signature. Its header names its kind, so that
// a signature is valid for only one kind.
package statement

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
)

// ErrOtherKey means that the signing key did not sign the newest checkpoint of the ledger.
var ErrOtherKey = errors.New("the signing key is not the key that signed the newest checkpoint")

// InCharge checks that the signer has the key public, and that this key signed the checkpoint.
// Otherwise the error wraps [ErrOtherKey].
func InCharge(signer note.Signer, public string, checkpoint []byte) error {
	key, _, err := ledger.ParseVerifier(public)
	if err != nil {
		return err
	}
	if signer.Name() != key.Name() || signer.KeyHash() != key.KeyHash() {
		return ErrOtherKey
	}
	if _, err := ledger.OpenCheckpoint(checkpoint, note.VerifierList(key)); err != nil {
		return fmt.Errorf("%w: %w", ErrOtherKey, err)
	}
	return nil
}

// Sign returns text as a note that signer has signed. The error wraps [ErrOtherKey] if public is
// not the verifier key of signer.
func Sign(text string, signer note.Signer, public string) ([]byte, error) {
	signed, err := note.Sign(&note.Note{Text: text}, signer)
	if err != nil {
		return nil, fmt.Errorf("sign statement: %w", err)
	}
	key, _, err := ledger.ParseVerifier(public)
	if err == nil {
		_, err = Open(signed, note.VerifierList(key))
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrOtherKey, err)
	}
	return signed, nil
}

var errNote = errors.New("it is not a signed statement")

// Open returns the text of a statement with exactly one signature, by one of keys.
func Open(signed []byte, keys note.Verifiers) (text string, err error) {
	n, err := note.Open(signed, keys)
	if _, ok := errors.AsType[*note.UnverifiedNoteError](err); ok {
		return "", errors.New("the key that was in charge of the ledger has not signed it")
	}
	if _, ok := errors.AsType[*note.InvalidSignatureError](err); ok {
		return "", errors.New("it was altered after it was signed")
	}
	if err != nil {
		return "", errNote
	}
	if !ledger.IsOnlySigned(signed, n) {
		return "", errors.New("it has something besides one signature")
	}
	return n.Text, nil
}

// EachField parses lines of the form "name value" and calls set for each of them. It stops at the
// first error.
func EachField(text string, set func(name, value string) error) error {
	for line := range strings.Lines(text) {
		name, raw, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		value, err := ledger.ParseField(raw)
		if err == nil && ok {
			err = set(name, value)
		}
		if err != nil || !ok {
			return fmt.Errorf("line %q", name)
		}
	}
	return nil
}

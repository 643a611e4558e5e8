package verifier

import (
	"errors"
	"fmt"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
)

// ReadTrusted reads a checkpoint that the user trusts. It does not check who signed the
// checkpoint, because the keys of the ledger may not be known yet.
func ReadTrusted(text []byte) (c ledger.Checkpoint, signed []byte, err error) {
	signed = ledger.TrimNote(text)
	if c, err = ledger.ReadCheckpoint(signed); err == nil {
		if _, opened := note.Open(signed, note.VerifierList()); !errors.As(opened, new(*note.UnverifiedNoteError)) {
			err = opened
		}
	}
	if err != nil {
		return c, nil, fmt.Errorf("trusted checkpoint: %w", err)
	}
	return c, signed, nil
}

// openTrusted treats a checkpoint by another signer as a divergence, because this ledger may have
// replaced an earlier ledger.
func (v *verifier) openTrusted() {
	for i := range v.trusted {
		t := &v.trusted[i]
		if t.found.Unusable {
			continue
		}
		_, err := ledger.OpenCheckpoint(t.signed, v.keys.At(t.Size))
		reason := OtherKey(err, v.keys, t.Size)
		switch {
		case err == nil:
		case t.cosigned == nil && reason != "":
			t.foreign = true
			t.found.diverge(reason)
		case t.given:
			t.foreign = true
			t.found.diverge(err.Error())
		default:
			t.found = Trusted{From: t.found.From, WithLedger: t.found.WithLedger, Unusable: true, Reason: err.Error()}
		}
	}
}

// OtherKey names the keys that signed the checkpoint, and the valid keys, if err is the error of
// [ledger.OpenCheckpoint] about a wrong signer. For other errors, it returns "". size is the number
// of leaves in the checkpoint.
func OtherKey(err error, keys ledger.Keys, size int64) string {
	unverified, ok := errors.AsType[*note.UnverifiedNoteError](err)
	if !ok {
		return ""
	}
	var signers, ours []string
	for _, s := range unverified.Note.UnverifiedSigs[:min(maxSigners, len(unverified.Note.UnverifiedSigs))] {
		signers = append(signers, fmt.Sprintf("%s+%08x", s.Name, s.Hash))
	}
	for _, k := range keys.Chain[keys.Replaced(size):] {
		ours = append(ours, ledger.KeyID(k))
	}
	ours = ours[max(0, len(ours)-maxSigners):]
	return fmt.Sprintf("it is signed by %s, and this ledger by %s", strings.Join(signers, ", "), strings.Join(ours, ", "))
}

const maxSigners = 3 // number of keys in an error text

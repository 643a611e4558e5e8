package ledger

import (
	"bytes"
	"encoding/base64"
	"slices"

	"golang.org/x/mod/sumdb/note"
)

// IsOnlySigned reports whether a note that was opened has one signature, of a key
// that is known, and is in exactly the form in which notes are written.
func IsOnlySigned(signed []byte, n *note.Note) bool {
	return len(n.Sigs) == 1 && isAsWritten(signed, n)
}

// isAsWritten reports whether a note that was opened is in exactly the form in
// which notes are written, all of its signatures being of keys that are known.
func isAsWritten(signed []byte, n *note.Note) bool {
	if len(n.UnverifiedSigs) > 0 || slices.ContainsFunc(n.Sigs, func(s note.Signature) bool { return !isCanonical(s.Base64) }) {
		return false
	}
	want, err := note.Sign(&note.Note{Text: n.Text, Sigs: n.Sigs})
	return err == nil && bytes.Equal(want, signed)
}

func isCanonical(b64 string) bool {
	b, err := base64.StdEncoding.DecodeString(b64)
	return err == nil && base64.StdEncoding.EncodeToString(b) == b64
}

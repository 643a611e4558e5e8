package events

import (
	"crypto/ed25519"
	"encoding/base64"
)

const manifestContext = "hooktrail/manifest/v2\n"

// SignedText returns the text that the producer signs, a format line and the manifest without Sig.
func (m Manifest) SignedText() []byte {
	m.Sig = ""
	return AppendManifest(append(make([]byte, 0, 512), manifestContext...), m)
}

// Sign returns a signed copy of m. key is the public key, and the function sign returns the
// signature of a text by the matching private key.
func (m Manifest) Sign(key string, sign func(text []byte) ([]byte, error)) (Manifest, error) {
	m.Version, m.Key = signedManifest, key
	sig, err := sign(m.SignedText())
	m.Sig = base64.StdEncoding.EncodeToString(sig)
	return m, err
}

// IsSigned reports whether the version of m requires a signature. It verifies nothing.
func (m Manifest) IsSigned() bool { return m.Version == signedManifest }

// Signature decodes m.Sig. It returns nil if m.Sig is not an Ed25519 signature in base64.
func (m Manifest) Signature() []byte { return signatureBytes(m.Sig) }

func signatureBytes(text string) []byte {
	sig, err := base64.StdEncoding.Strict().DecodeString(text)
	if err != nil || len(sig) != ed25519.SignatureSize || len(text) != base64.StdEncoding.EncodedLen(len(sig)) {
		return nil
	}
	return sig
}

const (
	onlySigned   = "version 1 has no state, no key, no grant and no signature"
	notUserKey   = "not the public nkey of a user"
	notSignature = "not an Ed25519 signature in base64"
)

func (m Manifest) hasSignedMembers() bool {
	return m.Key+m.Next+m.Sig+string(m.State) != "" || m.Interval+m.Beat > 0 || m.Grant != nil
}

func (m Manifest) validateSignature() error {
	switch {
	case !m.IsSigned() && m.hasSignedMembers():
		return invalid("v", onlySigned)
	case !m.IsSigned():
		return nil
	case !isUserKey(m.Key):
		return invalid("key", notUserKey)
	case m.Next != "" && (!isUserKey(m.Next) || m.Next == m.Key):
		return invalid("next", "not the public nkey of another user")
	case m.Signature() == nil:
		return invalid("sig", notSignature)
	case m.Grant != nil:
		return m.Grant.validate()
	}
	return nil
}

const keyLength = 56

func isUserKey(key string) bool {
	if len(key) != keyLength || key[0] != 'U' {
		return false
	}
	for i := range len(key) {
		if c := key[i]; (c < 'A' || c > 'Z') && (c < '2' || c > '7') {
			return false
		}
	}
	return true
}

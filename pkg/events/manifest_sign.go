package events

import (
	"crypto/ed25519"
	"encoding/base64"
)

const manifestContext = "hooktrail/manifest/v2\n"

// SignedText returns the bytes that the signature of m covers: a line that names the
// format, and the encoded manifest without its signature.
func (m Manifest) SignedText() []byte {
	m.Sig = ""
	return AppendManifest(append(make([]byte, 0, 512), manifestContext...), m)
}

// Sign returns m in version 2 with a key and the signature that sign makes over
// [Manifest.SignedText].
func (m Manifest) Sign(key string, sign func(text []byte) ([]byte, error)) (Manifest, error) {
	m.Version, m.Key = signedManifest, key
	sig, err := sign(m.SignedText())
	m.Sig = base64.StdEncoding.EncodeToString(sig)
	return m, err
}

// IsSigned reports whether m has a key and a signature. It does not verify them.
func (m Manifest) IsSigned() bool { return m.Version == signedManifest }

// Signature returns the bytes of the signature, or nil if they have another length
// or form than those of Ed25519.
func (m Manifest) Signature() []byte {
	sig, err := base64.StdEncoding.Strict().DecodeString(m.Sig)
	if err != nil || len(sig) != ed25519.SignatureSize || len(m.Sig) != base64.StdEncoding.EncodedLen(len(sig)) {
		return nil
	}
	return sig
}

// keyLength is the length of a public nkey: base32 of a prefix, 32 bytes and a checksum.
const keyLength = 56

func (m Manifest) validateSignature() error {
	switch {
	case !m.IsSigned() && m.Key+m.Sig != "":
		return invalid("v", "version 1 has no key and no signature")
	case !m.IsSigned():
		return nil
	case len(m.Key) != keyLength || m.Key[0] != 'U':
		return invalid("key", "not the public nkey of a user")
	case m.Signature() == nil:
		return invalid("sig", "not an Ed25519 signature in base64")
	}
	for i := range len(m.Key) {
		if c := m.Key[i]; (c < 'A' || c > 'Z') && (c < '2' || c > '7') {
			return invalid("key", "not the public nkey of a user")
		}
	}
	return nil
}

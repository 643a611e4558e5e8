package transparency

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/mod/sumdb/note"
)

const (
	algEd25519     = 0x01 // key of a log
	algCosignature = 0x04 // key of a witness, which signs a time with the text
	algMLDSA       = 0x06

	keyIDBytes       = 4
	cosignatureBytes = 8 + ed25519.SignatureSize // time and signature

	maxSeconds = 253_402_300_799 // end of the year 9999, the limit of RFC 3339 and JSON
)

type cosigner struct {
	name string
	id   uint32
	key  ed25519.PublicKey
}

// NewCosigner returns a verifier for a witness (C2SP tlog-cosignature with Ed25519). vkey is
// NAME+ID+KEY with the id in hex and the key in base64.
func NewCosigner(vkey string) (note.Verifier, error) {
	c, alg, err := parseVerifierKey(vkey)
	if err != nil {
		return nil, err
	}
	switch alg {
	case algCosignature:
		return c, nil
	case algEd25519:
		return nil, errors.New("verifier key: type 1 is for logs: use the witness's key of type 4")
	case algMLDSA:
		return nil, errors.New("verifier key: ML-DSA-44 (type 6) is not supported: use the witness's key of type 4, Ed25519")
	}
	return nil, fmt.Errorf("verifier key: unknown type %d: use the witness's key of type 4, Ed25519", alg)
}

// Name implements [note.Verifier].
func (c *cosigner) Name() string { return c.name }

// KeyHash implements [note.Verifier].
func (c *cosigner) KeyHash() uint32 { return c.id }

// Verify implements [note.Verifier].
func (c *cosigner) Verify(text, signature []byte) bool {
	if len(signature) != cosignatureBytes {
		return false
	}
	seconds := binary.BigEndian.Uint64(signature)
	if seconds == 0 || seconds > maxSeconds {
		return false
	}
	signed := append(fmt.Appendf(nil, "cosignature/v1\ntime %d\n", seconds), text...)
	return ed25519.Verify(c.key, signed, signature[8:])
}

// cosignedAt does not verify the cosignature.
func cosignedAt(s note.Signature) (time.Time, error) {
	b, err := base64.StdEncoding.DecodeString(s.Base64)
	if err != nil || len(b) != keyIDBytes+cosignatureBytes {
		return time.Time{}, fmt.Errorf("signature of %q is not a cosignature", s.Name)
	}
	return time.Unix(int64(binary.BigEndian.Uint64(b[keyIDBytes:])), 0).UTC(), nil
}

func parseVerifierKey(vkey string) (*cosigner, byte, error) {
	name, rest, _ := strings.Cut(vkey, "+")
	hexID, key64, ok := strings.Cut(rest, "+")
	material, err := base64.StdEncoding.DecodeString(key64)
	if !ok || err != nil || !isKeyName(name) || len(material) < 2 || base64.StdEncoding.EncodeToString(material) != key64 {
		return nil, 0, errors.New("verifier key: want NAME+ID+KEY with the id in hex and the key in base64")
	}
	sum := sha256.Sum256(bytes.Join([][]byte{[]byte(name), material}, []byte("\n")))
	c := &cosigner{name: name, id: binary.BigEndian.Uint32(sum[:])}
	if id, err := strconv.ParseUint(hexID, 16, 32); err != nil || len(hexID) != 2*keyIDBytes || uint32(id) != c.id {
		return nil, 0, errors.New("verifier key: id does not match name and key")
	}
	alg := material[0]
	if alg == algEd25519 || alg == algCosignature {
		if len(material) != 1+ed25519.PublicKeySize {
			return nil, 0, errors.New("verifier key: invalid length of an Ed25519 key")
		}
		c.key = ed25519.PublicKey(material[1:])
	}
	return c, alg, nil
}

func isKeyName(name string) bool {
	return name != "" && utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool {
		return unicode.IsSpace(r) || r == '+' || r < 0x20
	})
}

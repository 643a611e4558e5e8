package tokens

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"time"
)

// Token describes a bearer token. It contains a hash of the secret instead of the secret.
type Token struct {
	ID      string    `json:"id"`
	Tenant  string    `json:"tenant"`
	Note    string    `json:"note,omitempty"`
	SHA256  string    `json:"sha256"` // of the secret, in lower-case hex
	Created time.Time `json:"created"`
}

// Secret is a bearer token as a client sends it. Printed or encoded, it shows only its id, so that
// logs do not reveal it.
type Secret string

const prefix = "htk_"

func newSecret() Secret {
	var id [4]byte
	var secret [32]byte
	// rand.Read never returns an error.
	_, _ = rand.Read(id[:])
	_, _ = rand.Read(secret[:])
	return Secret(prefix + hex.EncodeToString(id[:]) + "_" + base64.RawURLEncoding.EncodeToString(secret[:]))
}

// Reveal returns the whole token as plain text.
func (s Secret) Reveal() string { return string(s) }

// String returns the prefix and the id of the token, without the secret part.
func (s Secret) String() string { return prefix + s.id() + "_…" }

// GoString returns the same text as String.
func (s Secret) GoString() string { return s.String() }

// MarshalText returns the same text as String.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

func (s Secret) id() string {
	rest, ok := strings.CutPrefix(string(s), prefix)
	if id, _, found := strings.Cut(rest, "_"); ok && found {
		return id
	}
	return ""
}

func (s Secret) hash() string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

func (t Token) is(s Secret) bool {
	return subtle.ConstantTimeCompare([]byte(t.SHA256), []byte(s.hash())) == 1
}

package ledger

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nkeys"
	"golang.org/x/mod/sumdb/note"
)

const endorsementHeader = "hooktrail/issuer/v1\n"

// Endorsement is a statement, signed with the ledger's key, that an issuer may confirm the signing
// keys of producers. The issuer puts its endorsement into each grant, so that even a new ledger
// accepts the grant. The text of an endorsement is:
//
//	hooktrail/issuer/v1
//	issuer UA5WUJ54Z23KILLCUOUNAKTPBVZWKMQVO4O6EQ5GHLAERIMLLHNCTYM5
//	tenant acme
//	time 2026-11-20T09:14:07.123456789Z
//
// Without the line "tenant", the endorsement is valid for all tenants. Values are escaped as in a
// [Leaf].
type Endorsement struct {
	Issuer string // public key, an nkey of a user
	Tenant string // empty for all tenants
	Time   time.Time
}

var errEndorsement = errors.New("not an endorsement of an issuer")

func (e Endorsement) text() string {
	b := appendField([]byte(endorsementHeader), "issuer ", e.Issuer)
	b = appendField(b, "tenant ", e.Tenant)
	return string(appendField(b, "time ", FormatTime(e.Time)))
}

// Sign returns e as a signed note.
func (e Endorsement) Sign(signer note.Signer) (string, error) {
	if !nkeys.IsValidPublicUserKey(e.Issuer) {
		return "", fmt.Errorf("sign endorsement: %q is not the public nkey of a user", e.Issuer)
	}
	signed, err := note.Sign(&note.Note{Text: e.text()}, signer)
	if err != nil {
		return "", fmt.Errorf("sign endorsement: %w", err)
	}
	return string(signed), nil
}

// OpenEndorsement checks that a note has exactly one signature, by one of the given keys, and
// returns the endorsement in the note.
func OpenEndorsement(signed string, keys note.Verifiers) (Endorsement, error) {
	n, err := note.Open([]byte(signed), keys)
	if err != nil {
		return Endorsement{}, fmt.Errorf("open endorsement: %w", err)
	}
	if !IsOnlySigned([]byte(signed), n) {
		return Endorsement{}, fmt.Errorf("%w: it has something besides one signature", errEndorsement)
	}
	return ParseEndorsement(n.Text)
}

// ParseEndorsement parses the text of an endorsement. Any text that [Endorsement.Sign] would not
// write is an error.
func ParseEndorsement(text string) (e Endorsement, err error) {
	rest, ok := strings.CutPrefix(text, endorsementHeader)
	if !ok {
		return e, errEndorsement
	}
	for line := range strings.Lines(rest) {
		name, raw, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		value, err := unescape([]byte(raw))
		switch {
		case err != nil:
		case name == "issuer":
			e.Issuer = value
		case name == "tenant":
			e.Tenant = value
		case name == "time":
			e.Time, err = time.Parse(timeLayout, value)
		default:
			err = errors.New("unknown field")
		}
		if err != nil {
			return Endorsement{}, fmt.Errorf("%w: %q: %w", errEndorsement, name, err)
		}
	}
	// Compare with the encoded endorsement, to reject reordered fields, repeated fields and
	// needless escapes.
	if e.text() != text || !nkeys.IsValidPublicUserKey(e.Issuer) {
		return Endorsement{}, fmt.Errorf("%w: not in canonical form", errEndorsement)
	}
	return e, nil
}

// Covers reports whether the endorsement is for the given issuer and tenant.
func (e Endorsement) Covers(issuer, tenant string) bool {
	return e.Issuer == issuer && (e.Tenant == "" || e.Tenant == tenant)
}

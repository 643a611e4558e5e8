package publish

import (
	"fmt"
	"os"
	"time"

	"github.com/nats-io/nkeys"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/cursor"
)

// Issuer signs the grants that enrol producers. It is safe for concurrent use.
type Issuer struct {
	path   string
	public string
	sign   func(text []byte) ([]byte, error)
}

// EndorsedEnding is the ending of the file with an issuer's endorsement. The rest of its path is
// the path of the issuer's key. An endorsement is a note signed with the ledger's key, and the
// issuer's grants contain it.
const EndorsedEnding = ".endorsed"

// OpenIssuer reads the key of an issuer from the file at path. The file contains the seed of a user
// nkey or the NATS credentials of a user.
func OpenIssuer(path string) (*Issuer, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read issuer: %w", err)
	}
	pair, err := nkeys.ParseDecoratedUserNKey(text)
	if err != nil {
		return nil, fmt.Errorf("read issuer: %s has neither the seed of a user nor credentials: %w", path, err)
	}
	public, err := pair.PublicKey()
	if err != nil {
		return nil, fmt.Errorf("read issuer: %s: %w", path, err)
	}
	return &Issuer{path: path, public: public, sign: pair.Sign}, nil
}

// Public returns the public key of the issuer, which is a user nkey.
func (i *Issuer) Public() string { return i.public }

func (i *Issuer) endorsement() string {
	note, err := os.ReadFile(i.path + EndorsedEnding)
	if err != nil {
		return ""
	}
	return string(note)
}

// owesGrant reports whether the chain needs a new grant, because it has none from this issuer, or
// because its last one lacks the newest endorsement. Without an issuer, i is nil and no grant is
// needed.
func (i *Issuer) owesGrant(ch cursor.Chain) bool {
	if i == nil {
		return false
	}
	newest := hashOfNote(i.endorsement())
	return ch.Issuer != i.public || newest != "" && ch.Endorsement != newest
}

func hashOfNote(note string) string {
	if note == "" {
		return ""
	}
	return events.HashOf([]byte(note)).String()
}

// Grant signs the statement that key belongs to producer in tenant. If expires is zero, the grant
// never expires.
func (i *Issuer) Grant(tenant, producer, key string, expires time.Time) (events.Grant, error) {
	g := events.Grant{Tenant: &tenant, Producer: producer, Key: key, Issued: time.Now(), Expires: expires, Endorsed: i.endorsement()}
	g, err := g.Sign(i.public, i.sign)
	if err != nil {
		return g, fmt.Errorf("sign grant: %w", err)
	}
	return g, nil
}

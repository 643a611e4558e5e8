package outbox

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

// EndorsedEnding is the suffix of the file with an issuer key's endorsement. The file is next to
// the issuer's key file, such as "issuer.nk.endorsed".
const EndorsedEnding = ".endorsed"

// OpenIssuer reads an issuer's key from a file with the seed of a user nkey or NATS credentials.
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

// Grant signs the statement that key belongs to producer in tenant. A zero expires means never.
func (i *Issuer) Grant(tenant, producer, key string, expires time.Time) (events.Grant, error) {
	g := events.Grant{Tenant: &tenant, Producer: producer, Key: key, Issued: time.Now(), Expires: expires, Endorsed: i.endorsement()}
	g, err := g.Sign(i.public, i.sign)
	if err != nil {
		return g, fmt.Errorf("sign grant: %w", err)
	}
	return g, nil
}

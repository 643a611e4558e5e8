package ledgertest

import (
	"crypto/ed25519"
	"crypto/sha256"

	"github.com/nats-io/nkeys"

	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// ProducerKey returns the private test key of the producer with the given name, which is always the
// same.
func ProducerKey(name string) ed25519.PrivateKey {
	seed := sha256.Sum256([]byte(name))
	return ed25519.NewKeyFromSeed(seed[:])
}

// Sign returns m with a signature by key, or m itself if key is nil.
func Sign(m events.Manifest, key ed25519.PrivateKey) events.Manifest {
	if key == nil {
		return m
	}
	m, err := m.Sign(public(key), func(text []byte) ([]byte, error) { return ed25519.Sign(key, text), nil })
	if err != nil {
		panic(err)
	}
	return m
}

func public(key ed25519.PrivateKey) string {
	public, err := nkeys.Encode(nkeys.PrefixByteUser, key[ed25519.PublicKeySize:])
	if err != nil {
		panic(err)
	}
	return string(public)
}

// PublicKey returns the public half of [ProducerKey].
func PublicKey(name string) string { return public(ProducerKey(name)) }

// Grant signs g with the key of issuer. A grant confirms that a key belongs to a producer.
func Grant(issuer string, g events.Grant) *events.Grant {
	key := ProducerKey(issuer)
	if g.Issued.IsZero() {
		g.Issued = Began
	}
	g, err := g.Sign(public(key), func(text []byte) ([]byte, error) { return ed25519.Sign(key, text), nil })
	if err != nil {
		panic(err)
	}
	return &g
}

// Enrol makes a producer sign its manifests. Its next manifest contains a grant, in which the
// issuer confirms the producer's key.
func (f *Feed) Enrol(producer, issuer string) {
	f.Sign(producer)
	f.Give(producer, Grant(issuer, events.Grant{Tenant: &f.Tenant, Producer: producer, Key: PublicKey(producer)}))
}

// Give adds the grant g, which confirms the producer's key, to the producer's next manifest.
func (f *Feed) Give(producer string, g *events.Grant) { f.Source(producer).grant = g }

// ChangeKey replaces the signing key of a producer with the test key [ProducerKey](name) after the
// next manifest.
func (f *Feed) ChangeKey(producer, name string) { f.Source(producer).next = ProducerKey(name) }

// Sign makes a producer sign its next manifests.
func (f *Feed) Sign(producer string) { f.Source(producer).key = ProducerKey(producer) }

// AddManifest adds the manifest m to the stream without any checks.
func (f *Feed) AddManifest(m events.Manifest) {
	f.Add(subjects.Address{Tenant: m.Tenant, Producer: m.Producer, Manifest: true}, m.Encode())
}

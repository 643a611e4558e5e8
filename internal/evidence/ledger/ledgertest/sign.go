package ledgertest

import (
	"crypto/ed25519"
	"crypto/sha256"

	"github.com/nats-io/nkeys"

	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// ProducerKey returns the key of a name.
func ProducerKey(name string) ed25519.PrivateKey {
	seed := sha256.Sum256([]byte(name))
	return ed25519.NewKeyFromSeed(seed[:])
}

// Sign returns m with a signature, or m itself if there is no key.
func Sign(m events.Manifest, key ed25519.PrivateKey) events.Manifest {
	if key == nil {
		return m
	}
	public, err := nkeys.Encode(nkeys.PrefixByteUser, key[ed25519.PublicKeySize:])
	if err == nil {
		m, err = m.Sign(string(public), func(text []byte) ([]byte, error) { return ed25519.Sign(key, text), nil })
	}
	if err != nil {
		panic(err)
	}
	return m
}

// Sign makes a producer sign its next manifests.
func (f *Feed) Sign(producer string) { f.Source(producer).key = ProducerKey(producer) }

// AddManifest adds any manifest to the stream.
func (f *Feed) AddManifest(m events.Manifest) {
	f.Add(subjects.Address{Tenant: m.Tenant, Producer: m.Producer, Manifest: true}, m.Encode())
}

package outbox

import (
	"crypto/ed25519"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/nats-io/nkeys"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/disk"
)

const keyName = "producer.nk"

type signer struct {
	public  string
	private ed25519.PrivateKey
}

func openSigner(opts Options, name string) (signer, error) {
	path := filepath.Join(opts.Dir, name)
	seed, err := os.ReadFile(path)
	if err == nil {
		return newSigner(seed, path)
	}
	if !errors.Is(err, os.ErrNotExist) {
		return signer{}, fmt.Errorf("read key: %w", err)
	}
	pair, err := nkeys.CreateUser()
	if err == nil {
		seed, err = pair.Seed()
	}
	if err != nil {
		return signer{}, fmt.Errorf("create key: %w", err)
	}
	write := func() error { return disk.MarkNoSpace(disk.Replace(path, append(seed, '\n'))) }
	if err = write(); errors.Is(err, disk.ErrNoSpace) {
		err = opts.reserve().Use(write)
	}
	if err != nil {
		return signer{}, fmt.Errorf("write key: %w", err)
	}
	return newSigner(seed, path)
}

func newSigner(seed []byte, path string) (signer, error) {
	if end := len(seed) - 1; end >= 0 && seed[end] == '\n' {
		seed = seed[:end]
	}
	prefix, raw, err := nkeys.DecodeSeed(seed)
	if err != nil || prefix != nkeys.PrefixByteUser {
		return signer{}, fmt.Errorf("read key: %s is damaged; remove it to send the waiting events under a new producer id", path)
	}
	s := signer{private: ed25519.NewKeyFromSeed(raw)}
	public, err := nkeys.Encode(nkeys.PrefixByteUser, s.private[ed25519.PublicKeySize:])
	if err != nil {
		return signer{}, fmt.Errorf("read key: %w", err)
	}
	s.public = string(public)
	return s, nil
}

func (s signer) sign(m events.Manifest) (events.Manifest, error) {
	m, err := m.Sign(s.public, func(text []byte) ([]byte, error) { return ed25519.Sign(s.private, text), nil })
	if err != nil {
		return m, fmt.Errorf("sign manifest: %w", err)
	}
	return m, nil
}

func isSignedBy(m events.Manifest, public string) bool {
	if !m.IsSigned() || m.Key != public || m.Validate() != nil {
		return false
	}
	raw, err := nkeys.Decode(nkeys.PrefixByteUser, []byte(public))
	return err == nil && ed25519.Verify(raw, m.SignedText(), m.Signature())
}

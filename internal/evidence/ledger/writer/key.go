package writer

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/atomicfile"
)

const keyName = "hooktrail"

const privateFile = "ledger.key"

// Key is the signing key of a data directory, in a file or in an ssh-agent.
type Key struct {
	signer   note.Signer
	verifier note.Verifier
	public   string
	made     bool
	agent    bool

	ring    ledger.Chain         // previous keys, the oldest first, and this key
	changes []ledger.KeyRotation // changes[i] replaces ring[i] with ring[i+1]
}

// OpenKey returns the key in dir, and creates it if there is none. The private half is in
// ledger.key, the public half in ledger.pub. Parallel calls return the same key, even in other
// processes. OpenKey does not contact an ssh-agent.
func OpenKey(dir string) (*Key, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make key folder: %w", err)
	}
	k, path := &Key{}, filepath.Join(dir, privateFile)
	err := k.read(path)
	if errors.Is(err, fs.ErrNotExist) {
		if k.made, err = makeKey(path); err == nil {
			err = k.read(path)
		}
	}
	if err == nil {
		k.ring, k.changes, err = ledger.ReadChain(dir, k.public)
	}
	if err != nil {
		return nil, fmt.Errorf("signing key: %w", err)
	}
	return k, k.writePublic(filepath.Join(dir, ledger.VerifierFile))
}

func makeKey(path string) (made bool, err error) {
	private, _, err := note.GenerateKey(rand.Reader, keyName)
	if err != nil {
		return false, fmt.Errorf("make: %w", err)
	}
	return storeKey(path, private)
}

func storeKey(path, text string) (made bool, err error) {
	temporary, err := writeTemporary(path, text+"\n", 0o600)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, os.Remove(temporary)) }()
	// os.Link fails if path exists, while os.Rename would replace it.
	if err := os.Link(temporary, path); errors.Is(err, fs.ErrExist) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	return true, atomicfile.SyncDir(filepath.Dir(path))
}

func (k *Key) writePublic(path string) error {
	have, err := os.ReadFile(path)
	if err == nil && strings.TrimSpace(string(have)) == k.public {
		return nil
	}
	temporary, err := writeTemporary(path, k.public+"\n", 0o644)
	if err != nil {
		return fmt.Errorf("verifier key: %w", err)
	}
	if err := os.Rename(temporary, path); err != nil {
		return fmt.Errorf("verifier key: %w", err)
	}
	return atomicfile.SyncDir(filepath.Dir(path))
}

// Public returns the public half of the key as text.
func (k *Key) Public() string { return k.public }

// Verifiers returns the key and all previous keys.
func (k *Key) Verifiers() note.Verifiers { return k.ring.From(0) }

func (k *Key) verifiers() note.Verifiers { return note.VerifierList(k.verifier) }

// ID returns the id of the key for reports, see [ledger.KeyID].
func (k *Key) ID() string { return ledger.KeyID(k.verifier) }

// Sign signs the order o with the key.
func (k *Key) Sign(o ledger.Order) ([]byte, error) { return o.Sign(k.signer) }

// InAgent reports whether the private half is in an ssh-agent.
func (k *Key) InAgent() bool { return k.agent }

// Made reports whether [OpenKey] created the key, instead of reading an existing one.
func (k *Key) Made() bool { return k.made }

func writeTemporary(path, text string, mode fs.FileMode) (name string, err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".key-*")
	if err != nil {
		return "", err
	}
	defer func() {
		if err = errors.Join(err, f.Close()); err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err := f.Chmod(mode); err != nil {
		return "", err
	}
	if _, err := f.WriteString(text); err != nil {
		return "", err
	}
	return f.Name(), f.Sync()
}

func publicHalf(private string) (string, error) {
	parts := strings.SplitN(private, "+", 5)
	seed, err := base64.StdEncoding.DecodeString(parts[len(parts)-1])
	if err != nil || len(parts) != 5 || len(seed) != 1+ed25519.SeedSize {
		return "", errors.New("malformed")
	}
	public, ok := ed25519.NewKeyFromSeed(seed[1:]).Public().(ed25519.PublicKey)
	if !ok {
		return "", errors.New("malformed")
	}
	return note.NewEd25519VerifierKey(parts[2], public)
}

// HasKey reports whether there is a signing key in dir.
func HasKey(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, privateFile))
	return err == nil
}

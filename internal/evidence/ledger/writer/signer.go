package writer

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/sshkey"
)

const agentWord = "ssh-agent"

// Place says where the private half of a signing key is stored. The zero value means a file.
type Place struct {
	Agent       bool
	Fingerprint string // empty for the only Ed25519 key in the agent
}

// ParsePlace parses the place of a private key, which is "file", "ssh-agent" or
// "ssh-agent:SHA256:…".
func ParsePlace(text string) (Place, error) {
	where, fingerprint, named := strings.Cut(text, ":")
	switch {
	case text == "file":
		return Place{}, nil
	case where == agentWord && named == (fingerprint != "") && (!named || strings.HasPrefix(fingerprint, "SHA256:")):
		return Place{Agent: true, Fingerprint: fingerprint}, nil
	}
	return Place{}, fmt.Errorf("invalid signer %q; want file, ssh-agent or ssh-agent:SHA256:…, as ssh-add -l prints it", text)
}

func (p Place) reference() (string, error) {
	public, err := sshkey.Find(p.Fingerprint)
	if err != nil {
		return "", err
	}
	verifier, err := note.NewEd25519VerifierKey(keyName, public)
	return agentWord + " " + verifier, err
}

// Choose makes sure that dir has a signing key whose private half is stored at p. If dir has no
// key, Choose creates it and returns true. If the private half is elsewhere, Choose returns an
// error.
func (p Place) Choose(dir string) (made bool, err error) {
	if !HasKey(dir) {
		return p.create(dir)
	}
	k, err := OpenKey(dir)
	if err != nil {
		return false, err
	}
	have := "file"
	if k.agent {
		_, public, err := sshkey.PublicOf(k.public)
		if err != nil {
			return false, err
		}
		if have, err = sshkey.Fingerprint(public); err != nil {
			return false, err
		}
		have = agentWord + ":" + have
	}
	if p.Agent == k.agent && (p.Fingerprint == "" || have == agentWord+":"+p.Fingerprint) {
		return false, nil
	}
	return false, fmt.Errorf("the key of the ledgers is in %s (signer %s): change it with auditor key rotate --signer", filepath.Join(dir, privateFile), have)
}

func (p Place) create(dir string) (made bool, err error) {
	if !p.Agent {
		k, err := OpenKey(dir)
		return err == nil && k.made, err
	}
	reference, err := p.reference()
	if err != nil {
		return false, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return false, fmt.Errorf("make key folder: %w", err)
	}
	if made, err = storeKey(filepath.Join(dir, privateFile), reference); err != nil || !made {
		return made, err
	}
	_, err = OpenKey(dir) // writes the public half
	return made, err
}

func (k *Key) read(path string) error {
	secret, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text := strings.TrimSpace(string(secret))
	if reference, ok := strings.CutPrefix(text, agentWord+" "); ok {
		k.agent, k.public = true, reference
		k.signer, err = sshkey.NewSigner(reference)
	} else if k.signer, err = note.NewSigner(text); err == nil {
		k.public, err = publicHalf(text)
	}
	if err == nil {
		k.verifier, err = ledger.ParseKey(k.public)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// Signer returns the private half of the key.
func (k *Key) Signer() note.Signer { return k.signer }

// KeyFile returns the path of the private signing key in dir.
func KeyFile(dir string) string { return filepath.Join(dir, privateFile) }

// ReadSigner reads the signing key in the file at path, and returns it as a signer and as a
// verifier key. If an ssh-agent cannot sign, the error wraps [sshkey.ErrAgent].
func ReadSigner(path string) (note.Signer, string, error) {
	k := &Key{}
	err := k.read(path)
	if agent, ok := k.signer.(*sshkey.Signer); err == nil && ok {
		err = agent.Ready()
	}
	if err != nil {
		return nil, "", fmt.Errorf("signing key: %w", err)
	}
	return k.signer, k.public, nil
}

package sshkey

import (
	"crypto/ed25519"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"

	"golang.org/x/crypto/ssh"
	"golang.org/x/mod/sumdb/note"
)

const noteAlgorithm = 1

// Fingerprint returns the fingerprint that ssh-add -l prints, such as "SHA256:47DEQ…".
func Fingerprint(public ed25519.PublicKey) (string, error) {
	key, err := ssh.NewPublicKey(public)
	if err != nil {
		return "", err
	}
	return ssh.FingerprintSHA256(key), nil
}

// ParsePublic parses a line such as "ssh-ed25519 AAAAC3… jane@host".
func ParsePublic(line string) (public ed25519.PublicKey, comment string, err error) {
	key, comment, _, rest, err := ssh.ParseAuthorizedKey([]byte(line))
	if err != nil || strings.TrimSpace(string(rest)) != "" {
		return nil, "", errors.New("not one public key of SSH, such as id_ed25519.pub")
	}
	public, err = plain(key)
	return public, comment, err
}

func plain(key ssh.PublicKey) (ed25519.PublicKey, error) {
	crypto, ok := key.(ssh.CryptoPublicKey)
	if ok && key.Type() == ssh.KeyAlgoED25519 {
		if public, ok := crypto.CryptoPublicKey().(ed25519.PublicKey); ok {
			return public, nil
		}
	}
	return nil, fmt.Errorf("a key of type %s cannot sign notes: make one with ssh-keygen -t ed25519", key.Type())
}

// PublicOf returns the name and the raw Ed25519 key in a verifier key.
func PublicOf(verifier string) (name string, public ed25519.PublicKey, err error) {
	if _, err := note.NewVerifier(verifier); err != nil {
		return "", nil, err
	}
	parts := strings.SplitN(verifier, "+", 3)
	data, err := base64.StdEncoding.DecodeString(parts[len(parts)-1])
	if err != nil || len(parts) != 3 || len(data) != 1+ed25519.PublicKeySize || data[0] != noteAlgorithm {
		return "", nil, errors.New("not an Ed25519 key")
	}
	return parts[0], data[1:], nil
}

func keyHash(v string) (uint32, error) {
	parsed, err := note.NewVerifier(v)
	if err != nil {
		return 0, err
	}
	return parsed.KeyHash(), nil
}

// ReadFile returns a signer called name with the key in an OpenSSH file without passphrase, and its
// verifier key.
func ReadFile(path, name string) (note.Signer, string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, "", fmt.Errorf("read key: %w", err)
	}
	raw, err := ssh.ParseRawPrivateKey(text)
	if errors.As(err, new(*ssh.PassphraseMissingError)) {
		return nil, "", fmt.Errorf("read key %s: it has a passphrase: add it to ssh-agent with ssh-add", path)
	}
	private, ok := raw.(*ed25519.PrivateKey)
	if err != nil || !ok {
		return nil, "", fmt.Errorf("read key %s: not a private Ed25519 key of OpenSSH", path)
	}
	return newPrivate(name, *private)
}

func newPrivate(name string, private ed25519.PrivateKey) (note.Signer, string, error) {
	public, ok := private.Public().(ed25519.PublicKey)
	if !ok {
		return nil, "", errors.New("not an Ed25519 key")
	}
	verifier, err := note.NewEd25519VerifierKey(name, public)
	if err != nil {
		return nil, "", err
	}
	hash, err := keyHash(verifier)
	if err != nil {
		return nil, "", err
	}
	seed := base64.StdEncoding.EncodeToString(append([]byte{noteAlgorithm}, private.Seed()...))
	var id [4]byte
	binary.BigEndian.PutUint32(id[:], hash)
	signer, err := note.NewSigner(fmt.Sprintf("PRIVATE+KEY+%s+%x+%s", name, id, seed))
	return signer, verifier, err
}

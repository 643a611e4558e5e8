package sshkey

import (
	"bytes"
	"crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"time"

	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
	"golang.org/x/mod/sumdb/note"
)

// SocketVariable is the environment variable with the agent's socket.
const SocketVariable = "SSH_AUTH_SOCK"

// answerTime limits how long ssh-agent may take to answer. A user may have to touch a hardware
// token first.
const answerTime = 10 * time.Second

// ErrAgent means that the agent is unreachable or does not sign. A retry can succeed after the user
// unlocked it.
var ErrAgent = errors.New("ssh-agent does not sign")

const agentRemedy = "start the agent, add the key with ssh-add, and set " + SocketVariable + " for this process"

// Find returns the Ed25519 key with this fingerprint in the agent, or the only one if fingerprint
// is empty.
func Find(fingerprint string) (public ed25519.PublicKey, err error) {
	var found []string
	err = ask(answerTime, func(a agent.Agent) error {
		keys, err := a.List()
		if err != nil {
			return err
		}
		for _, k := range keys {
			parsed, err := ssh.ParsePublicKey(k.Blob)
			if err != nil {
				continue // this program does not support the type
			}
			p, err := plain(parsed)
			if own := ssh.FingerprintSHA256(parsed); err == nil && (fingerprint == "" || own == fingerprint) {
				public, found = p, append(found, own)
			}
		}
		return nil
	})
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0 && fingerprint == "":
		return nil, fmt.Errorf("%w: it has no Ed25519 key, or is locked: add one with ssh-add, or unlock it with ssh-add -X", ErrAgent)
	case len(found) == 0:
		return nil, fmt.Errorf("%w: it has no Ed25519 key %s, or is locked: ssh-add -l lists its keys", ErrAgent, fingerprint)
	case len(found) > 1:
		return nil, fmt.Errorf("ssh-agent has several Ed25519 keys: name one by its fingerprint: %s", strings.Join(found, ", "))
	}
	return public, nil
}

// Signer signs with a key in the ssh-agent. It is safe for concurrent use.
type Signer struct {
	name   string
	hash   uint32
	public ed25519.PublicKey
	limit  time.Duration
}

// NewSigner returns a signer for a verifier key, without contacting the ssh-agent.
func NewSigner(verifier string) (*Signer, error) {
	name, public, err := PublicOf(verifier)
	if err != nil {
		return nil, err
	}
	hash, err := keyHash(verifier)
	return &Signer{name: name, hash: hash, public: public, limit: answerTime}, err
}

// Name implements [note.Signer].
func (s *Signer) Name() string { return s.name }

// KeyHash implements [note.Signer].
func (s *Signer) KeyHash() uint32 { return s.hash }

// Sign implements [note.Signer]. Each call opens a new connection to the ssh-agent, so that Sign
// works after a restart of the agent.
func (s *Signer) Sign(msg []byte) (signature []byte, err error) {
	key, err := ssh.NewPublicKey(s.public)
	if err != nil {
		return nil, err
	}
	err = ask(s.limit, func(a agent.Agent) error {
		signed, err := a.Sign(key, msg)
		if err != nil {
			return fmt.Errorf("%w (the agent has no key %s, is locked, or declined: ssh-add -l lists its keys)", err, ssh.FingerprintSHA256(key))
		}
		if signed.Format != ssh.KeyAlgoED25519 || len(signed.Rest) > 0 || !ed25519.Verify(s.public, msg, signed.Blob) {
			return errors.New("the agent answered with a wrong signature, which was thrown away: do not trust this agent")
		}
		signature = signed.Blob
		return nil
	})
	return signature, err
}

// Ready returns nil if the agent has the key. It signs nothing.
func (s *Signer) Ready() error {
	fingerprint, err := Fingerprint(s.public)
	if err != nil {
		return err
	}
	public, err := Find(fingerprint)
	if err == nil && !bytes.Equal(public, s.public) {
		err = fmt.Errorf("%w: it has another key with fingerprint %s", ErrAgent, fingerprint)
	}
	return err
}

var _ note.Signer = (*Signer)(nil)

func ask(limit time.Duration, do func(agent.Agent) error) (err error) {
	path := os.Getenv(SocketVariable)
	if path == "" {
		return fmt.Errorf("%w: %s is not set: %s", ErrAgent, SocketVariable, agentRemedy)
	}
	conn, err := net.DialTimeout("unix", path, limit) //nolint:noctx,gosec // a signer has no context, and the user names the socket
	if err != nil {
		return fmt.Errorf("%w: %w: %s", ErrAgent, err, agentRemedy)
	}
	defer func() { _ = conn.Close() }()
	end := time.Now().Add(limit)
	if err := conn.SetDeadline(end); err != nil {
		return fmt.Errorf("%w: %w", ErrAgent, err)
	}
	// agent.NewClient would start a goroutine for a connection with a Close method, so hide that
	// method.
	err = do(agent.NewClient(struct{ io.ReadWriter }{conn}))
	switch {
	case err == nil:
		return nil
	case !time.Now().Before(end): // the client's error hides the timeout
		return fmt.Errorf("%w: no answer from %s within %s: %s", ErrAgent, path, limit, agentRemedy)
	}
	return fmt.Errorf("%w: %w", ErrAgent, err)
}

package broker

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/hooktrail/hooktrail/internal/platform/atomicfile"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

// AuthMode decides which clients the embedded server accepts.
type AuthMode string

// The values of AuthMode.
const (
	// AuthKept keeps the mode that is stored in the data directory. A new data directory gets
	// AuthOpen.
	AuthKept     AuthMode = ""
	AuthOpen     AuthMode = "open"     // clients without credentials get the rights of a publisher
	AuthRequired AuthMode = "required" // clients without credentials are rejected
)

func (m AuthMode) validate() error {
	switch m {
	case AuthKept, AuthOpen, AuthRequired:
		return nil
	}
	return fmt.Errorf("--auth %q: want %s or %s", string(m), AuthOpen, AuthRequired)
}

// newAuthenticator requires that the caller has locked dir.
func newAuthenticator(dir, secret string, opts Options) (*authenticator, error) {
	mode, err := readAuthMode(dir)
	if err != nil {
		return nil, err
	}
	if opts.Auth != AuthKept && opts.Auth != mode {
		mode = opts.Auth
		if err := atomicfile.Write(filepath.Join(dir, "auth"), []byte(string(mode)+"\n")); err != nil {
			return nil, fmt.Errorf("broker's authentication: %w", err)
		}
	}
	if err := atomicfile.Write(filepath.Join(dir, "name"), []byte(serverName(secret))); err != nil {
		return nil, fmt.Errorf("broker name: %w", err)
	}
	for _, role := range subjects.Roles() {
		if _, err := loadKey(dir, string(role)); err != nil {
			return nil, err
		}
	}
	return &authenticator{
		dir: dir, secret: secret, space: opts.Space, required: mode == AuthRequired, log: opts.Logger,
		accounts: map[string]*server.Account{}, clients: map[uint64]restrictedClient{},
	}, nil
}

// readAuthMode returns an error for an unknown mode, because the default AuthOpen could accept too
// many clients.
func readAuthMode(dir string) (AuthMode, error) {
	data, err := os.ReadFile(filepath.Join(dir, "auth"))
	if errors.Is(err, fs.ErrNotExist) {
		return AuthOpen, nil
	}
	if err != nil {
		return "", fmt.Errorf("broker's authentication: %w", err)
	}
	mode := AuthMode(strings.TrimSpace(string(data)))
	if mode != AuthOpen && mode != AuthRequired {
		return "", fmt.Errorf("broker's authentication: %s contains neither %s nor %s", filepath.Join(dir, "auth"), AuthOpen, AuthRequired)
	}
	return mode, nil
}

var errAuthMode = errors.New("the broker runs with another --auth")

func (m AuthMode) checkRunning(dir string) error {
	mode, err := readAuthMode(dir)
	if err != nil {
		return err
	}
	if m == AuthKept || m == mode {
		return nil
	}
	return fmt.Errorf("%w: it is %s, but %s was requested; stop the process that runs it first", errAuthMode, mode, m)
}

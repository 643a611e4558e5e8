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

// AuthMode is whom the embedded server takes.
type AuthMode string

// The modes.
const (
	AuthKept     AuthMode = ""         // as it was the last time, at first AuthOpen
	AuthOpen     AuthMode = "open"     // who comes without credentials has the rights of a publisher
	AuthRequired AuthMode = "required" // who comes without credentials is sent away
)

func (m AuthMode) validate() error {
	switch m {
	case AuthKept, AuthOpen, AuthRequired:
		return nil
	}
	return fmt.Errorf("--auth %q: want %s or %s", string(m), AuthOpen, AuthRequired)
}

// openDoor returns the doorman of dir, whose lock the caller holds, and keeps
// the mode: it is the same whichever command runs the server the next time.
func openDoor(dir, secret string, opts Options) (*doorman, error) {
	mode, err := doorOf(dir)
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
	return &doorman{
		dir: dir, secret: secret, space: opts.Space, closed: mode == AuthRequired, log: opts.Logger,
		accounts: map[string]*server.Account{}, guests: map[uint64]guest{},
	}, nil
}

// doorOf reads the mode of dir. One that cannot be understood is an error: taken
// for open it would let in whom somebody wanted to keep out.
func doorOf(dir string) (AuthMode, error) {
	data, err := os.ReadFile(filepath.Join(dir, "auth"))
	if errors.Is(err, fs.ErrNotExist) {
		return AuthOpen, nil
	}
	if err != nil {
		return "", fmt.Errorf("broker's authentication: %w", err)
	}
	mode := AuthMode(strings.TrimSpace(string(data)))
	if mode != AuthOpen && mode != AuthRequired {
		return "", fmt.Errorf("broker's authentication: %s says neither %s nor %s", filepath.Join(dir, "auth"), AuthOpen, AuthRequired)
	}
	return mode, nil
}

// errDoor is wrapped when the server that runs has another mode than was asked for.
var errDoor = errors.New("the broker runs with another --auth")

// sameDoor refuses to join a server that takes others than was asked for.
func (b *Broker) sameDoor(dir string) error {
	mode, err := doorOf(dir)
	if err != nil {
		return err
	}
	if b.opts.Auth == AuthKept || b.opts.Auth == mode {
		return nil
	}
	return fmt.Errorf("%w: it is %s, and %s was asked for; end the process that runs it first", errDoor, mode, b.opts.Auth)
}

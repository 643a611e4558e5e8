package broker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/synadia-io/orbit.go/natscontext"

	"github.com/hooktrail/hooktrail/internal/subjects"
)

// ErrNotRunning is wrapped by [Dial] when nobody runs the embedded server.
var ErrNotRunning = errors.New("nobody runs the embedded broker")

// Dial connects to the broker that opts name, or to the embedded server of the
// data directory if somebody runs it, with the rights of the role: it runs no
// server and makes no streams. The caller closes the connection.
func Dial(ctx context.Context, opts Options) (*nats.Conn, error) {
	options := []nats.Option{nats.Name(opts.Name), nats.Timeout(dialTimeout)}
	if deadline, ok := ctx.Deadline(); ok {
		options = append(options, nats.Timeout(min(dialTimeout, time.Until(deadline))))
	}
	where := opts.elsewhere
	if opts.URL == "" {
		where = opts.here
	}
	address, how, err := where()
	if err != nil {
		return nil, err
	}
	options = append(options, how...)
	if name, ok := strings.CutPrefix(address, contextURL); ok {
		nc, _, err := natscontext.Connect(name, options...)
		if err != nil {
			return nil, fmt.Errorf("nats context %q: %w", name, err)
		}
		return nc, nil
	}
	nc, err := nats.Connect(address, options...)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", redactURL(address), err)
	}
	return nc, nil
}

// here returns what a connection to the embedded server that somebody runs needs.
func (o Options) here() (address string, options []nats.Option, err error) {
	d, err := dialerOf(filepath.Join(o.DataDir, "nats"))
	var host string
	if err == nil {
		host, err = d.address()
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "", nil, fmt.Errorf("connect to the broker of %s: %w", o.DataDir, ErrNotRunning)
	case err != nil:
		return "", nil, err
	}
	options = []nats.Option{nats.SetCustomDialer(d)}
	if o.Role != subjects.Owner {
		options, err = withKey(options, d.dir, o)
		return "nats://" + host, options, err
	}
	secret, err := os.ReadFile(filepath.Join(d.dir, "secret"))
	if err != nil {
		return "", nil, fmt.Errorf("broker secret: %w", err)
	}
	return "nats://" + host, append(options, ownerLogin(string(secret))...), nil
}

// withKey adds the key that a role has at the embedded server of dir, and its inbox.
func withKey(options []nats.Option, dir string, opts Options) ([]nats.Option, error) {
	name, err := keyName(opts.Space, opts.Role, opts.Tenant)
	if err != nil {
		return nil, err
	}
	file, err := loadKey(dir, name)
	if err != nil {
		return nil, err
	}
	key, err := nats.NkeyOptionFromSeed(file)
	if err != nil {
		return nil, fmt.Errorf("key %s: %w", file, err)
	}
	return append(options, key, nats.CustomInboxPrefix(inboxOf(opts.Role))), nil
}

package broker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/synadia-io/orbit.go/natscontext"
)

// ErrNotRunning is wrapped by [Dial] when nobody runs the embedded server.
var ErrNotRunning = errors.New("nobody runs the embedded broker")

// Dial connects to the broker that opts name, or to the embedded server of the
// data directory if somebody runs it, as a client that has only the rights of
// one: it runs no server and makes no streams. The caller closes the connection.
func Dial(ctx context.Context, opts Options) (*nats.Conn, error) {
	options := []nats.Option{nats.Name(opts.Name), nats.Timeout(dialTimeout)}
	if deadline, ok := ctx.Deadline(); ok {
		options = append(options, nats.Timeout(min(dialTimeout, time.Until(deadline))))
	}
	if opts.Creds != "" {
		options = append(options, nats.UserCredentials(opts.Creds))
	}
	address := opts.URL
	if name, ok := strings.CutPrefix(address, contextURL); ok {
		nc, _, err := natscontext.Connect(name, options...)
		if err != nil {
			return nil, fmt.Errorf("nats context %q: %w", name, err)
		}
		return nc, nil
	}
	if address == "" {
		d, _, err := dialerOf(filepath.Join(opts.DataDir, "nats"))
		var host string
		if err == nil {
			host, err = d.address()
		}
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil, fmt.Errorf("connect to the broker of %s: %w", opts.DataDir, ErrNotRunning)
		case err != nil:
			return nil, err
		}
		address, options = "nats://"+host, append(options, nats.SetCustomDialer(d))
	}
	nc, err := nats.Connect(address, options...)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", redactURL(address), err)
	}
	return nc, nil
}

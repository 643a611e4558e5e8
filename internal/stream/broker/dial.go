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

	"github.com/hooktrail/hooktrail/internal/subjects"
)

// ErrNotRunning means that no process runs the embedded NATS server of the data directory.
var ErrNotRunning = errors.New("no process runs the embedded broker")

// Dial connects to an existing broker. Unlike [Open], it starts no server and creates no streams.
// The caller must close the connection.
func Dial(ctx context.Context, opts Options) (*nats.Conn, error) {
	options := []nats.Option{nats.Name(opts.Name), nats.Timeout(dialTimeout)}
	if deadline, ok := ctx.Deadline(); ok {
		options = append(options, nats.Timeout(min(dialTimeout, time.Until(deadline))))
	}
	target := opts.external
	if opts.URL == "" {
		target = opts.running
	}
	address, how, err := target()
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

func (o Options) running() (address string, options []nats.Option, err error) {
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
	if o.Role == subjects.Owner {
		options, err = ownerLogin(d.dir)
	} else {
		options, err = roleLogin(d.dir, o)
	}
	return "nats://" + host, append(options, nats.SetCustomDialer(d)), err
}

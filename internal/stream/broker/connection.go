package broker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/natscontext"

	"github.com/hooktrail/hooktrail/internal/subjects"
)

const (
	contextURL     = "nats://context:"
	reconnectFirst = 50 * time.Millisecond
	reconnectMost  = 2 * time.Second
	retryConnect   = 100 * time.Millisecond
	ensureTimeout  = 5 * time.Second
)

// connection needs no lock, because its fields do not change after Open.
type connection struct {
	opts   Options
	health *health

	nc      *nats.Conn
	js      jetstream.JetStream
	streams jetstream.JetStream // has all rights if this process runs the server
	closed  chan struct{}
	gate    *gate // nil if the server was available during Open
}

func newConnection(opts Options, h *health) *connection {
	return &connection{opts: opts, health: h, closed: make(chan struct{})}
}

// options disables the reconnect buffer, so that sending fails at once without a connection.
func (c *connection) options() []nats.Option {
	log := c.opts.Logger
	return []nats.Option{
		nats.Name(c.opts.Name),
		nats.MaxReconnects(-1),
		nats.IgnoreAuthErrorAbort(),
		nats.ReconnectBufSize(-1),
		nats.CustomReconnectDelay(reconnectDelay),
		nats.PingInterval(20 * time.Second),
		nats.MaxPingsOutstanding(2),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				log.Warn("broker connection lost", "error", err)
			}
		}),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { c.reconnectFailed(err) }),
		nats.ConnectHandler(func(*nats.Conn) { c.health.connected() }),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			c.health.connected()
			log.Info("broker connected again", "url", nc.ConnectedUrlRedacted())
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			c.health.asyncError(err)
		}),
		nats.ClosedHandler(func(*nats.Conn) { close(c.closed) }),
	}
}

func (c *connection) reconnectFailed(err error) {
	if c.opts.URL == "" || errors.Is(err, errGateClosed) || errors.Is(err, nats.ErrNoServers) || errors.Is(err, syscall.ECONNREFUSED) {
		return
	}
	text := fmt.Sprintf("connect to %s: %v", redactURL(c.opts.URL), err)
	if errors.Is(err, nats.ErrAuthorization) {
		text += "; " + c.opts.unknownLogin()
	}
	c.health.connectFailed(text)
}

func reconnectDelay(attempts int) time.Duration {
	d := reconnectMost
	if attempts < 6 {
		d = min(d, reconnectFirst<<attempts)
	}
	return d/2 + rand.N(d/2+1) //nolint:gosec // jitter is no secret
}

func (c *connection) connect(address string, options ...nats.Option) error {
	nc, err := nats.Connect(address, append(c.options(), options...)...)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", address, err)
	}
	c.nc = nc
	c.js, err = jetstream.New(nc)
	return err
}

func (c *connection) connectEmbedded(dir, address string, how nats.Option) error {
	var options []nats.Option
	var err error
	if c.opts.Role == subjects.Owner {
		options, err = ownerLogin(dir)
	} else {
		options, err = roleLogin(dir, c.opts)
	}
	if err != nil {
		return err
	}
	err = c.connect(address, append(options, how)...)
	if c.streams == nil {
		c.streams = c.js
	}
	return err
}

func (c *connection) connectExternal(ctx context.Context) error {
	for {
		err := c.dialExternal()
		if err == nil {
			return nil
		}
		if c.opts.Later {
			return c.dialLater()
		}
		if errors.Is(err, nats.ErrAuthorization) {
			return fmt.Errorf("connect to %s: %w; %s", redactURL(c.opts.URL), err, c.opts.unknownLogin())
		}
		if !retryable(err) {
			return fmt.Errorf("connect to %s: %w", redactURL(c.opts.URL), err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("connect to %s: %w", redactURL(c.opts.URL), err)
		case <-time.After(retryConnect):
		}
	}
}

func (c *connection) dialExternal(more ...nats.Option) error {
	address, how, err := c.opts.external()
	if err != nil {
		return err
	}
	options := slices.Concat(c.options(), how, more)
	if name, ok := strings.CutPrefix(address, contextURL); ok {
		nc, settings, err := natscontext.Connect(name, options...)
		if err != nil {
			return fmt.Errorf("nats context %q: %w", name, err)
		}
		c.nc = nc
		c.js, err = contextJetStream(nc, settings)
		c.streams = c.js
		return err
	}
	c.nc, err = nats.Connect(address, options...)
	if err != nil {
		return err
	}
	c.js, err = jetstream.New(c.nc)
	c.streams = c.js
	return err
}

func (c *connection) drain(ctx context.Context) error {
	if err := c.nc.Drain(); err != nil {
		c.nc.Close() // a disconnected client has nothing to flush
	}
	select {
	case <-c.closed:
		return nil
	case <-ctx.Done():
		c.nc.Close()
		return fmt.Errorf("drain connection: %w", ctx.Err())
	}
}

func contextJetStream(nc *nats.Conn, s natscontext.Settings) (jetstream.JetStream, error) {
	switch {
	case s.JSDomain != "":
		return jetstream.NewWithDomain(nc, s.JSDomain)
	case s.JSAPIPrefix != "":
		return jetstream.NewWithAPIPrefix(nc, s.JSAPIPrefix)
	}
	return jetstream.New(nc)
}

func retryable(err error) bool {
	var network net.Error
	return errors.Is(err, nats.ErrNoServers) || errors.Is(err, nats.ErrTimeout) || errors.As(err, &network)
}

func redactURL(list string) string {
	urls := strings.Split(list, ",")
	for i, u := range urls {
		scheme, rest, ok := strings.Cut(u, "://")
		if !ok {
			scheme, rest = "", u
		} else {
			scheme += "://"
		}
		if at := strings.LastIndexByte(rest, '@'); at >= 0 {
			rest = rest[at+1:]
		}
		urls[i] = scheme + rest
	}
	return strings.Join(urls, ",")
}

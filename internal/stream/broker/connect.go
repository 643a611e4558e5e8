package broker

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/synadia-io/orbit.go/natscontext"
)

const (
	contextURL     = "nats://context:"
	reconnectFirst = 50 * time.Millisecond
	reconnectMost  = 2 * time.Second
	retryConnect   = 100 * time.Millisecond
	ensureTimeout  = 10 * time.Second
)

// connOptions are those of every connection. Nothing is buffered while
// disconnected: a message that is sent into the void must fail at once, so that
// its sender can tell what became of it.
func (b *Broker) connOptions() []nats.Option {
	log := b.opts.Logger
	return []nats.Option{
		nats.Name(b.opts.Name),
		nats.MaxReconnects(-1),
		nats.IgnoreAuthErrorAbort(),
		nats.RetryOnFailedConnect(b.opts.Later && b.opts.URL != ""),
		nats.ReconnectBufSize(-1),
		nats.CustomReconnectDelay(reconnectDelay),
		nats.PingInterval(20 * time.Second),
		nats.MaxPingsOutstanding(2),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			if err != nil {
				log.Warn("broker connection lost", "error", err)
			}
		}),
		nats.ReconnectErrHandler(func(_ *nats.Conn, err error) { b.away(err) }),
		nats.ConnectHandler(func(*nats.Conn) { b.forgetRefusals() }),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			b.forgetRefusals()
			log.Info("broker connected again", "url", nc.ConnectedUrlRedacted())
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			b.reported(err)
		}),
		nats.ClosedHandler(func(*nats.Conn) { close(b.closed) }),
	}
}

// reconnectDelay doubles from 50 ms to 2 s, with jitter, so that a restarted
// server is found soon and not by all clients in one moment.
func reconnectDelay(attempts int) time.Duration {
	d := reconnectMost
	if attempts < 6 {
		d = min(d, reconnectFirst<<attempts)
	}
	return d/2 + rand.N(d/2+1) //nolint:gosec // jitter is no secret
}

func (b *Broker) connectExternal(ctx context.Context) error {
	for {
		err := b.dialExternal()
		if err == nil {
			return nil
		}
		// Only a server that cannot be reached may come up yet.
		if errors.Is(err, nats.ErrAuthorization) || !retryable(err) {
			return fmt.Errorf("connect to %s: %w", redactURL(b.opts.URL), err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("connect to %s: %w", redactURL(b.opts.URL), err)
		case <-time.After(retryConnect):
		}
	}
}

func (b *Broker) dialExternal() error {
	address, how, err := b.opts.elsewhere()
	if err != nil {
		return err
	}
	options := append(b.connOptions(), how...)
	name, ok := strings.CutPrefix(address, contextURL)
	if !ok {
		nc, err := nats.Connect(address, options...)
		if err != nil {
			return err
		}
		b.nc = nc
		b.js, err = jetstream.New(nc)
		b.streams = b.js
		return err
	}
	nc, settings, err := natscontext.Connect(name, options...)
	if err != nil {
		return fmt.Errorf("nats context %q: %w", name, err)
	}
	b.nc = nc
	b.js, err = contextJetStream(nc, settings)
	b.streams = b.js
	return err
}

// arrive makes the streams of a broker that was away when it was opened, once it
// is there.
func (b *Broker) arrive(ctx context.Context) {
	for failures := 0; !b.ready && ctx.Err() == nil; failures++ {
		err := b.whileConnected(ctx, b.ensureStreams)
		if err == nil {
			return
		}
		if ctx.Err() == nil {
			b.opts.Logger.WarnContext(ctx, "streams could not be made yet", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(reconnectDelay(failures)):
		}
	}
}

// whileConnected waits for the connection, then calls do.
func (b *Broker) whileConnected(ctx context.Context, do func(context.Context) error) error {
	status := b.nc.StatusChanged(nats.CONNECTED)
	defer b.nc.RemoveStatusListener(status)
	if !b.nc.IsConnected() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-status:
		}
	}
	ctx, cancel := context.WithTimeout(ctx, ensureTimeout)
	defer cancel()
	return do(ctx)
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

// retryable reports whether err is of a server that is not there yet, as
// opposed to one that was named wrongly or refuses us.
func retryable(err error) bool {
	var network net.Error
	return errors.Is(err, nats.ErrNoServers) || errors.Is(err, nats.ErrTimeout) || errors.As(err, &network)
}

// redactURL removes the credentials of a URL list.
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

package broker

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/subjects"
)

// Broker is a connection to JetStream. If no external server is configured, one of the processes
// on the data directory runs an embedded server, and the others connect to it. All methods may be
// called concurrently.
type Broker struct {
	opts   Options
	conn   *connection
	health *health

	embedded atomic.Pointer[embedded] // nil while this process runs no server
	joined   string                   // folder of the server, if another process ran it during Open

	stop       context.CancelFunc // ends the background goroutines
	background sync.WaitGroup
	ending     sync.Once
	ended      error
}

// Open connects to an external broker if a URL is set. Otherwise it runs or joins the embedded
// server. It creates missing streams and never changes existing ones.
//
// Open fails without a URL if the data directory belongs to an external broker.
func Open(ctx context.Context, opts Options) (*Broker, error) {
	opts = opts.withDefaults()
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	h := newHealth(opts)
	b := &Broker{opts: opts, health: h, conn: newConnection(opts, h)}
	opening, cancel := context.WithTimeout(ctx, opts.ConnectTimeout)
	defer cancel()
	if err := b.open(opening); err != nil {
		return nil, errors.Join(err, b.abandon())
	}
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	b.stop = stop
	b.background.Go(func() {
		b.settleLater(background)
		b.monitor(background)
	})
	if b.joined != "" {
		b.background.Go(func() { b.standBy(background, b.joined) })
	}
	return b, nil
}

func (b *Broker) open(ctx context.Context) error {
	if err := b.opts.CheckHome(); err != nil {
		return err
	}
	connect := b.connectEmbedded
	if b.opts.URL != "" {
		connect = b.conn.connectExternal
	}
	if err := connect(ctx); err != nil {
		return err
	}
	if b.conn.gate != nil {
		b.opts.Logger.WarnContext(ctx, "broker unavailable", "url", redactURL(b.opts.URL))
	} else if err := b.settleOrLater(ctx); err != nil {
		return err
	}
	if b.conn.gate != nil {
		return b.conn.rememberAbsent(ctx)
	}
	if e := b.embedded.Load(); e != nil {
		return e.announce()
	}
	return nil
}

func (b *Broker) settle(ctx context.Context, c *connection) error {
	if err := c.checkServer(ctx); err != nil {
		return err
	}
	if err := b.ensureStreamsOf(ctx, c.streams, b.embedded.Load()); err != nil {
		return err
	}
	return c.remember(ctx)
}

func (b *Broker) ensureStreamsOf(ctx context.Context, js jetstream.JetStream, e *embedded) error {
	streams := StreamOptions{MaxBytes: b.opts.StreamMaxBytes, Replicas: b.opts.Replicas, AllowTamper: b.opts.AllowTamper}
	if e != nil {
		if err := e.limit(&streams, b.opts.StreamMaxBytes); err != nil {
			return err
		}
	}
	var drift []string
	err := b.health.unlessRefused(ctx, func(ctx context.Context) (err error) {
		drift, err = EnsureStreams(ctx, js, b.opts.Space, streams)
		return err
	})
	if err != nil {
		return err
	}
	b.health.setDrift(ctx, drift)
	return nil
}

func (b *Broker) abandon() error {
	if b.conn.nc != nil {
		b.conn.nc.Close()
	}
	if e := b.embedded.Load(); e != nil {
		return e.stop()
	}
	return nil
}

// Conn returns the connection to the server, which callers must not close.
func (b *Broker) Conn() *nats.Conn { return b.conn.nc }

// JetStream returns the JetStream context of the connection.
func (b *Broker) JetStream() jetstream.JetStream { return b.conn.js }

// Embedded reports whether this process currently runs the server.
func (b *Broker) Embedded() bool { return b.embedded.Load() != nil }

// URL returns the address of the server, without credentials.
func (b *Broker) URL() string {
	if e := b.embedded.Load(); e != nil {
		return e.url
	}
	return b.conn.nc.ConnectedUrlRedacted()
}

// Space returns the prefixes of the broker's subjects and streams.
func (b *Broker) Space() subjects.Space { return b.opts.Space }

// Drift lists the settings of existing streams that differ from the settings of newly created ones.
// Each element has the form "STREAM field: want X, got Y".
func (b *Broker) Drift() []string { return b.health.driftNow() }

// Warnings lists current problems that an operator should solve.
func (b *Broker) Warnings() []string { return b.health.warningsNow() }

// Close flushes buffered messages until ctx ends, and closes the connection and its embedded
// server. It can be called again.
func (b *Broker) Close(ctx context.Context) error {
	b.ending.Do(func() { b.ended = b.end(ctx) })
	return b.ended
}

func (b *Broker) end(ctx context.Context) error {
	b.stop()
	b.background.Wait()
	err := b.conn.drain(ctx)
	if e := b.embedded.Load(); e != nil {
		err = errors.Join(err, e.stop())
	}
	return err
}

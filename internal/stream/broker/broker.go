package broker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/subjects"
)

// Options say which broker to use and how.
type Options struct {
	DataDir string // the embedded server keeps its store in DataDir/nats
	URL     string // of a broker elsewhere; nats://context:NAME selects a NATS context; empty: embedded
	Login   Login  // at URL
	Name    string // of the connection: "auditor"
	Listen  string // of the embedded server, "127.0.0.1:0" by default; only the loopback is accepted
	Space   subjects.Space

	// Role decides what the connection may do at the embedded server; its zero
	// value may do everything. Elsewhere the rights are those of Login. Tenant is
	// the one tenant that a consumer reads, if it reads only one.
	Role   subjects.Role
	Tenant string

	// Auth is whether the embedded server takes clients without credentials, with
	// the rights of a publisher. Empty keeps what the data directory has.
	Auth AuthMode

	MaxStore       int64 // of the embedded server; 0 means what the disk can hold
	StreamMaxBytes int64 // of the event stream; 0 means a share of the disk when it is made, and what it has later
	Replicas       int   // of streams that are made, on a cluster; 0 means 1
	AllowTamper    bool  // tests only: streams are made without the deny flags

	// Later lets Open return while a broker elsewhere is away: it is connected to
	// when it comes, and the streams are made then.
	Later          bool
	ConnectTimeout time.Duration // how long Open tries, 15 s by default
	Logger         *slog.Logger
}

func (o Options) withDefaults() Options {
	if o.Name == "" {
		o.Name = "hooktrail"
	}
	if o.Listen == "" {
		o.Listen = "127.0.0.1:0"
	}
	if o.ConnectTimeout <= 0 {
		o.ConnectTimeout = 15 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Validate reports the first option that cannot be used.
func (o Options) Validate() error {
	switch {
	case o.URL == "" && o.DataDir == "":
		return errors.New("options: neither URL nor DataDir is set")
	case o.MaxStore != 0 && o.MaxStore < smallestStream+otherStreams:
		return fmt.Errorf("options: MaxStore is %d, at least %d are needed", o.MaxStore, smallestStream+otherStreams)
	case o.StreamMaxBytes < 0:
		return fmt.Errorf("options: StreamMaxBytes is %d", o.StreamMaxBytes)
	}
	if err := o.Auth.validate(); err != nil {
		return err
	}
	if o.URL == "" {
		_, _, err := loopback(o.Listen)
		return err
	}
	return o.Login.validate()
}

// Broker is a connection to JetStream and, where this process runs it, the
// server behind it. Its methods may be called concurrently.
type Broker struct {
	opts Options
	nc   *nats.Conn
	js   jetstream.JetStream

	streams  jetstream.JetStream      // makes and looks at the streams
	embedded atomic.Pointer[embedded] // nil where the server runs elsewhere
	joined   string                   // the folder of the server that another process ran at Open
	ready    bool                     // Open made the streams; else the monitor does

	mu       sync.Mutex // guards what follows
	drift    []string
	warnings map[string]string
	refused  map[string]bool         // what the broker did not allow on this connection
	refuse   context.CancelCauseFunc // told of it; nil: nobody waits

	stop     context.CancelFunc // of the monitor
	watching sync.WaitGroup
	closed   chan struct{} // closed by the connection when it has ended for good
	ending   sync.Once
	ended    error // of Close
}

// Open connects to the broker that opts name, running the embedded server when
// nobody does, and makes the streams that are missing. Streams that exist and
// differ are left as they are: see [Broker.Drift].
func Open(ctx context.Context, opts Options) (*Broker, error) {
	opts = opts.withDefaults()
	if err := opts.Validate(); err != nil {
		return nil, err
	}
	b := &Broker{opts: opts, closed: make(chan struct{}), warnings: make(map[string]string), refused: make(map[string]bool)}
	opening, cancel := context.WithTimeout(ctx, opts.ConnectTimeout)
	defer cancel()
	if err := b.open(opening); err != nil {
		return nil, errors.Join(err, b.abandon())
	}
	watch, stop := context.WithCancel(context.WithoutCancel(ctx))
	b.stop = stop
	b.watching.Go(func() {
		b.arrive(watch)
		b.monitor(watch)
	})
	if b.joined != "" {
		b.watching.Go(func() { b.succeed(watch, b.joined) })
	}
	return b, nil
}

func (b *Broker) open(ctx context.Context) error {
	connect := b.connectEmbedded
	if b.opts.URL != "" {
		connect = b.connectExternal
	}
	if err := connect(ctx); err != nil {
		return err
	}
	if b.nc.Status() == nats.RECONNECTING {
		b.opts.Logger.WarnContext(ctx, "broker is away: waiting for it", "url", redactURL(b.opts.URL))
		return nil
	}
	if err := b.ensureStreams(ctx); err != nil {
		return err
	}
	b.ready = true
	if e := b.embedded.Load(); e != nil {
		return e.announce()
	}
	return nil
}

func (b *Broker) ensureStreams(ctx context.Context) error {
	return b.ensureStreamsOf(ctx, b.streams, b.embedded.Load())
}

// ensureStreamsOf makes the streams that are missing; e is nil where the server
// runs elsewhere.
func (b *Broker) ensureStreamsOf(ctx context.Context, js jetstream.JetStream, e *embedded) error {
	streams := StreamOptions{MaxBytes: b.opts.StreamMaxBytes, Replicas: b.opts.Replicas, AllowTamper: b.opts.AllowTamper}
	if e != nil {
		if err := e.guard(&streams, b.opts.StreamMaxBytes); err != nil {
			return err
		}
	}
	var drift []string
	err := b.unlessRefused(ctx, func(ctx context.Context) (err error) {
		drift, err = EnsureStreams(ctx, js, b.opts.Space, streams)
		return err
	})
	if err != nil {
		return err
	}
	b.mu.Lock()
	b.drift = drift
	b.mu.Unlock()
	for _, d := range drift {
		b.opts.Logger.WarnContext(ctx, "stream configuration drifted", "difference", d)
	}
	return nil
}

// abandon undoes what a failed Open has begun.
func (b *Broker) abandon() error {
	if b.nc != nil {
		b.nc.Close()
	}
	if e := b.embedded.Load(); e != nil {
		return e.stop()
	}
	return nil
}

// Conn returns the connection. It belongs to the Broker, who closes it.
func (b *Broker) Conn() *nats.Conn { return b.nc }

// JetStream returns the JetStream context of the connection.
func (b *Broker) JetStream() jetstream.JetStream { return b.js }

// Embedded reports whether this process runs the server. A process that joined
// another one's runs it from when that has ended.
func (b *Broker) Embedded() bool { return b.embedded.Load() != nil }

// URL returns the address of the server, without credentials.
func (b *Broker) URL() string {
	if e := b.embedded.Load(); e != nil {
		return e.url
	}
	return b.nc.ConnectedUrlRedacted()
}

// Space returns the part of the account that the broker was opened for.
func (b *Broker) Space() subjects.Space { return b.opts.Space }

// Drift names each field in which an existing stream differs from what Open
// would have made, as "STREAM field: want X, got Y".
func (b *Broker) Drift() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.drift
}

// Warnings are the conditions that an operator should look at now: drifted
// streams, rights that its user lacks, a disk that runs full, too many live
// subjects.
func (b *Broker) Warnings() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := append([]string(nil), b.drift...)
	for _, name := range [...]string{warnAway, warnRefused, warnDisk, warnStore, warnSubjects} {
		if w, ok := b.warnings[name]; ok {
			all = append(all, w)
		}
	}
	return all
}

// Close sends what is buffered, ends the connection, and stops the server if it
// is ours. When ctx ends first, the connection is cut. Closing again returns
// what the first time did.
func (b *Broker) Close(ctx context.Context) error {
	b.ending.Do(func() { b.ended = b.end(ctx) })
	return b.ended
}

func (b *Broker) end(ctx context.Context) error {
	b.stop()
	b.watching.Wait()
	var err error
	if e := b.nc.Drain(); e != nil {
		// Drain is refused while disconnected: there is nothing to send to then.
		b.nc.Close()
	}
	select {
	case <-b.closed:
	case <-ctx.Done():
		err = fmt.Errorf("drain connection: %w", ctx.Err())
		b.nc.Close()
	}
	if e := b.embedded.Load(); e != nil {
		err = errors.Join(err, e.stop())
	}
	return err
}

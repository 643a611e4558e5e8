package publisher

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/tokens"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/pkg/hooks/hookfile"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// uniqueLast is how many of the latest events are known when they are sent again:
// up to 80 MiB of memory.
const uniqueLast = 500_000

// DefaultListen is where serve listens.
const DefaultListen = "127.0.0.1:8080"

// Options configure [Run].
type Options struct {
	Broker  *broker.Broker
	DataDir string // the outbox is DataDir/outbox/serve
	Tenant  string // the only tenant that is taken; empty takes all, and "default" where an event names none

	Listen      string // address of the HTTP server, [DefaultListen] when empty
	AllowRemote bool   // listen on other interfaces than the loopback: whoever reaches them may write
	MaxBody     int64  // of a request; [DefaultMaxBody] when 0
	Access      Access // who may send, and how much
	Durability  publish.Durability
	Quota       int64               // bytes that may wait in the outbox; the publisher's default when 0
	Full        *publish.FullPolicy // what Append does when the outbox is full; nil is [publish.Fail]
	Redactor    publish.Redactor    // all rules of pkg/redact when nil; [publish.NoRedaction] opts out
	Hooks       *hookfile.File      // what decides; nil: nothing is decided

	Ready  func(address string) // called once it listens; may be nil
	Logger *slog.Logger
}

// ErrListen is wrapped by the refusal of an address.
var ErrListen = errors.New("address cannot be listened on")

// Validate reports the first option that cannot be used.
func (o Options) Validate() error {
	host, _, err := net.SplitHostPort(o.Listen)
	switch {
	case err != nil:
		return fmt.Errorf("%w: --listen: %w", ErrListen, err)
	case !o.AllowRemote && !isLoopback(host):
		return fmt.Errorf("%w: %q is not of the loopback, and events are taken from whoever reaches it; --allow-remote allows that", ErrListen, o.Listen)
	case o.MaxBody < 0:
		return errors.New("--max-body: cannot be negative")
	case o.Quota < 0:
		return errors.New("--quota: cannot be negative")
	}
	return o.Access.Validate()
}

func (o Options) withDefaults() Options {
	if o.Listen == "" {
		o.Listen = DefaultListen
	}
	if o.Full == nil {
		o.Full = new(publish.Fail)
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// How long the stages of a shutdown may take; together they stay below what
// process managers wait by default.
const (
	drainRequests = 5 * time.Second
	drainOutbox   = 15 * time.Second
)

// Open opens the outbox that [Run] serves, for who serves [Handler] on a server
// of his own. The caller closes it.
func Open(ctx context.Context, opts Options) (*publish.Publisher, error) {
	opts = opts.withDefaults()
	return openOutbox(ctx, opts.Broker, opts.DataDir, publish.Options{
		Name: "serve", Tenant: opts.Tenant, Full: *opts.Full, Durability: opts.Durability, Quota: opts.Quota,
		Redactor: opts.Redactor, Unique: true, UniqueLast: uniqueLast,
	}, opts.Logger)
}

// Run takes events over HTTP until ctx ends. It then answers what is under way,
// sends what the outbox holds, for some seconds, and returns nil: what is left
// is sent when it runs again.
func Run(ctx context.Context, opts Options) error {
	opts = opts.withDefaults()
	if err := opts.Validate(); err != nil {
		return err
	}
	p, err := Open(ctx, opts)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil // told to stop while another process has the outbox
	case err != nil:
		return err
	}
	endShared := shareBeside(ctx, opts)
	defer endShared() // what it has to send, it sends while the server drains
	err = serveAll(ctx, opts, p)
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainOutbox)
	defer cancel()
	closed := p.Close(closing)
	if waiting := p.Stats().Pending; waiting > 0 && errors.Is(closed, context.DeadlineExceeded) {
		opts.Logger.WarnContext(ctx, "events stay in the outbox", "events", waiting, "error", closed)
		closed = nil
	}
	return errors.Join(err, closed)
}

// answers are what answers besides the outbox.
type answers struct{ decisions, hooks http.Handler }

// serveAll answers over HTTP, on the socket of the data directory and, where
// there are hooks, over NATS.
func serveAll(ctx context.Context, opts Options, p *publish.Publisher) error {
	d, err := NewDecider(opts.Hooks, p, opts)
	if err != nil {
		return err
	}
	h, err := NewHookService(opts.Hooks, p, opts)
	if err != nil {
		return err
	}
	stopHooks := h.Start(ctx)
	failed, stopDecider := d.start(ctx)
	return errors.Join(serve(ctx, opts, p, answers{d.Handler(), h}, failed), stopDecider(), stopHooks())
}

func serve(ctx context.Context, opts Options, p *publish.Publisher, a answers, failed <-chan error) error {
	l, err := Listen(ctx, opts.Listen, "--listen")
	if err != nil {
		return err
	}
	var draining atomic.Bool
	srv, err := newServer(ctx, opts, p, a, &draining)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	ended := make(chan error, 1)
	go func() { ended <- ServeOn(srv, l) }()
	opts.Logger.InfoContext(ctx, "publisher listening", "address", l.Addr().String())
	if opts.Ready != nil {
		opts.Ready(l.Addr().String())
	}
	var broken error
	select {
	case err := <-ended:
		return fmt.Errorf("serve: %w", err)
	case broken = <-failed:
	case <-ctx.Done():
	}
	draining.Store(true)
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainRequests)
	defer cancel()
	err = srv.Shutdown(drain)
	if err != nil {
		// Only a request that never ends is still there: its sender got no answer.
		opts.Logger.WarnContext(ctx, "requests were cut off", "error", err)
		err = srv.Close()
	}
	if e := <-ended; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	return errors.Join(broken, err)
}

func newMux(opts Options, p *publish.Publisher, known *tokens.File, a answers, draining *atomic.Bool) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/v1/", Handler(p, HandlerOptions{
		Tenant: opts.Tenant, MaxBody: opts.MaxBody, AllowRemote: opts.AllowRemote, Logger: opts.Logger,
		Decisions: a.decisions, Hooks: a.hooks, Tokens: known, Rate: opts.Access.Rate,
	}))
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { ready(w, p.Stats(), draining.Load()) })
	return mux
}

func newServer(ctx context.Context, opts Options, p *publish.Publisher, a answers, draining *atomic.Bool) (*http.Server, error) {
	known, err := opts.Access.Tokens(opts.DataDir)
	if err != nil {
		return nil, err
	}
	if opts.AllowRemote {
		opts.Access.Warn(ctx, opts.Logger, known)
	}
	return opts.Access.Server(ctx, newMux(opts, p, known, a, draining), opts.Logger)
}

// ready tells whether events are taken. A broker that is away is no reason not
// to be ready: the outbox takes them.
func ready(w http.ResponseWriter, s publish.Stats, draining bool) {
	if draining {
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintln(w, "draining")
		return
	}
	fmt.Fprintf(w, "ok\nwaiting %d\nacknowledged %d\n", s.Pending, s.Acked)
	if s.LastError != nil {
		fmt.Fprintf(w, "the broker does not take events at present: %v\n", s.LastError)
	}
}

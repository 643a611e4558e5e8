package publisher

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/tokens"
	"github.com/hooktrail/hooktrail/internal/platform/hookid"
	"github.com/hooktrail/hooktrail/internal/stream/admission"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/pkg/hooks/hookfile"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// uniqueLast is the number of events that the outbox remembers to find duplicates. They need up to
// 80 MiB.
const uniqueLast = 500_000

// DefaultListen is the default address of the HTTP server.
const DefaultListen = "127.0.0.1:8080"

// Options configure [Run].
type Options struct {
	Broker  *broker.Broker
	DataDir string // the outbox is DataDir/outbox/serve
	Tenant  string // as in [HandlerOptions]

	Listen      string
	AllowRemote bool  // allow an address outside the loopback
	MaxBody     int64 // of a request in bytes; 0 is [DefaultMaxBody]
	Access      Access
	Tenants     *admission.Policy // as in [HandlerOptions]
	Durability  publish.Durability
	Quota       int64               // bytes that may wait in the outbox; 0 is the default of pkg/publish
	Heartbeat   time.Duration       // interval of manifests, which the outbox announces; 0 is the default of pkg/publish
	Full        *publish.FullPolicy // policy for a full outbox; nil is [publish.Fail]
	Redactor    publish.Redactor    // nil for all rules of pkg/redact
	Hooks       *hookfile.File      // hooks that decide; may be nil

	Ready  func(address string) // called once the server listens, unless nil
	Logger *slog.Logger
}

// ErrListen means that the address is invalid.
var ErrListen = errors.New("cannot listen on this address")

// Validate returns an error for the first invalid option.
func (o Options) Validate() error {
	switch {
	case o.MaxBody < 0:
		return errors.New("--max-body: must not be negative")
	case o.Quota < 0:
		return errors.New("--quota: must not be negative")
	}
	return errors.Join(o.validateListen(), o.Access.Validate())
}

func (o Options) validateListen() error {
	if o.Listen == NoAddress {
		if o.Access.Socket.Path == "" {
			return fmt.Errorf("%w: %q needs --socket", ErrListen, NoAddress)
		}
		return nil
	}
	host, _, err := net.SplitHostPort(o.Listen)
	switch {
	case err != nil:
		return fmt.Errorf("%w: --listen: %w", ErrListen, err)
	case !o.AllowRemote && !isLoopback(host):
		return fmt.Errorf("%w: %q is not of the loopback, and every host that reaches it may send events; --allow-remote allows that", ErrListen, o.Listen)
	}
	return nil
}

func (o Options) withDefaults() Options {
	o.Listen = cmp.Or(o.Listen, DefaultListen)
	o.Full = cmp.Or(o.Full, new(publish.Fail))
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return o
}

// The sum of these times must be shorter than the stop timeout of process managers, which kill a
// process that takes longer.
const (
	drainRequests = 5 * time.Second
	drainOutbox   = 15 * time.Second
)

// Open opens the outbox that [Run] uses. It is for callers that serve [Handler] themselves. The
// caller must call [Close] at the end.
func Open(ctx context.Context, opts Options) (*publish.Publisher, error) {
	opts = opts.withDefaults()
	if _, err := hookid.Key(opts.DataDir); err != nil {
		return nil, err
	}
	return openOutbox(ctx, opts.Broker, opts.DataDir, publish.Options{
		Name: "serve", Tenant: opts.Tenant, Full: *opts.Full, Durability: opts.Durability, Quota: opts.Quota, Heartbeat: opts.Heartbeat,
		Redactor: opts.Redactor, Unique: true, UniqueSame: true, UniqueLast: uniqueLast,
	}, opts.Logger)
}

// Run receives events over HTTP until ctx ends. It then answers open requests and sends waiting
// events for some seconds.
func Run(ctx context.Context, opts Options) error {
	opts = opts.withDefaults()
	if err := opts.Validate(); err != nil {
		return err
	}
	p, err := Open(ctx, opts)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil // ctx ended while another process had the outbox open
	case err != nil:
		return err
	}
	stopShared := startShared(ctx, opts)
	defer stopShared()
	err = serveAll(ctx, opts, p)
	return errors.Join(err, Close(ctx, p, time.Now().Add(drainOutbox), opts.Logger))
}

// Close sends the events in the outbox until the deadline, and closes the outbox. Events that are
// left stay on disk, and the next process sends them.
func Close(ctx context.Context, p *publish.Publisher, deadline time.Time, logger *slog.Logger) error {
	closing, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline)
	defer cancel()
	err := p.Close(closing)
	if waiting := p.Stats().Pending; waiting > 0 && errors.Is(err, context.DeadlineExceeded) {
		logger.WarnContext(ctx, "events stay in the outbox", "events", waiting, "error", err)
		return nil
	}
	return err
}

type handlers struct {
	events           Appender
	decisions, hooks http.Handler
	idle             *IdleRuns
}

func serveAll(ctx context.Context, opts Options, p *publish.Publisher) error {
	sent, decided := Limit(p, opts.Access.Limits)
	idle := NewIdleRuns(p, opts)
	d, err := NewDecider(opts.Hooks, idle.Ended(decided), opts)
	if err != nil {
		return err
	}
	h, err := NewHookService(opts.Hooks, idle.Others(decided), opts)
	if err != nil {
		return err
	}
	defer idle.Start(ctx)()
	stopHooks := h.Start(ctx)
	failed, stopDecider := d.start(ctx)
	return errors.Join(serve(ctx, opts, p, handlers{sent, d.Handler(), h, idle}, failed), stopDecider(), stopHooks())
}

func serve(ctx context.Context, opts Options, p *publish.Publisher, a handlers, failed <-chan error) error {
	l, err := Listen(ctx, opts.Listen, "--listen")
	if err != nil {
		return err
	}
	var draining atomic.Bool
	srv, err := newServer(ctx, opts, p, a, &draining)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	onSocket, removeSocket, err := opts.Access.ServeSocket(ctx, srv, opts.Logger)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	ended := make(chan error, 1)
	go func() { ended <- opts.Access.ServeOn(srv, l) }()
	opts.Logger.InfoContext(ctx, "publisher listening", "address", l.Addr().String())
	if opts.Ready != nil {
		opts.Ready(l.Addr().String())
	}
	var broken error
	select {
	case err := <-ended:
		return errors.Join(fmt.Errorf("serve: %w", err), srv.Close(), removeSocket())
	case broken = <-onSocket:
	case broken = <-failed:
	case <-ctx.Done():
	}
	draining.Store(true)
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainRequests)
	defer cancel()
	err = srv.Shutdown(drain)
	if err != nil {
		opts.Logger.WarnContext(ctx, "open requests cut off", "error", err)
		err = srv.Close()
	}
	if e := <-ended; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	return errors.Join(broken, err, removeSocket())
}

func newMux(opts Options, p *publish.Publisher, senders *tokens.File, a handlers, draining *atomic.Bool) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/v1/", Handler(a.events, HandlerOptions{
		Tenant: opts.Tenant, MaxBody: opts.MaxBody, AllowRemote: opts.AllowRemote, Logger: opts.Logger, DataDir: opts.DataDir,
		Decisions: a.decisions, Hooks: a.hooks, Idle: a.idle, Tokens: senders, Tenants: opts.Tenants,
	}))
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) { ready(w, p.Stats(), draining.Load()) })
	return mux
}

func newServer(ctx context.Context, opts Options, p *publish.Publisher, a handlers, draining *atomic.Bool) (*http.Server, error) {
	senders, err := opts.Access.Tokens(opts.DataDir)
	if err != nil {
		return nil, err
	}
	if opts.AllowRemote {
		opts.Access.Warn(ctx, opts.Logger, senders)
	}
	return opts.Access.Server(ctx, newMux(opts, p, senders, a, draining), opts.Logger)
}

func ready(w http.ResponseWriter, s publish.Stats, draining bool) {
	first := "ok"
	switch {
	case draining:
		w.WriteHeader(http.StatusServiceUnavailable)
		fmt.Fprintln(w, "draining")
		return
	case s.Full != nil:
		w.WriteHeader(http.StatusServiceUnavailable)
		first = "events are refused: " + s.Full.Error()
	}
	fmt.Fprintf(w, "%s\nwaiting %d\nacknowledged %d\n", first, s.Pending, s.Acked)
	if s.Foreign > 0 {
		fmt.Fprintf(w, "foreign manifests ignored %d\n", s.Foreign)
	}
	if s.LastError != nil {
		fmt.Fprintf(w, "the broker does not take events at present: %v\n", s.LastError)
	}
}

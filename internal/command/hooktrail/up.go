package hooktrail

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/capture/publisher"
	bearer "github.com/hooktrail/hooktrail/internal/capture/tokens"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/internal/tracking/tracker"
	"github.com/hooktrail/hooktrail/pkg/hooks/hookfile"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// UpOptions are the settings of [Up].
type UpOptions struct {
	DataDir      string // required
	NATSURL      string // a broker elsewhere; empty: the embedded one
	Login        broker.Login
	Auth         broker.AuthMode // of the embedded one
	NATSListen   string          // of the embedded one; empty: a free port of the loopback, kept
	HTTPListen   string          // required
	AllowRemote  bool            // HTTPListen may be another interface than the loopback
	Access       publisher.Access
	Tenant       string // empty: all
	DrainTimeout time.Duration
	Redactor     publish.Redactor // all rules of pkg/redact when nil
	Hooks        *hookfile.File   // what decides; nil: nothing is decided
	Audit        auditor.Options  // where the auditor shows what it has signed; the rest is set by Up
	Track        tracker.Options  // how the tracker decides, and where issues are kept; the rest is set by Up
	Logger       *slog.Logger
	Listening    func(Addresses) // called once events are taken in
}

// Addresses are where a running house is reached.
type Addresses struct {
	HTTP    string `json:"http"`
	NATS    string `json:"nats"`
	DataDir string `json:"data_dir"`
}

// defaultDrain is what everything gets to handle what is there.
const defaultDrain = 30 * time.Second

func upCommand(shared *cli.Shared) *cobra.Command {
	var (
		opts      UpOptions
		redaction publisher.Redaction
		hookFile  publisher.HookFile
		places    auditor.Places
		kept      auditor.Retention
		setup     tracker.Setup
	)
	cmd := &cobra.Command{
		Use:   "up",
		Short: "Run everything in one process",
		Long: `Run everything in one process until a signal ends it: an embedded NATS server,
publisher, auditor, tracker and metrics. It takes what publisher serve takes over
HTTP, and answers /livez, /readyz and /metrics. A part that fails is begun again, and
the others go on meanwhile. Once publisher token create has made a token, senders
need one, and act for its tenant alone. With --hooks it also answers requests for
decisions, at POST /v1/decisions and over NATS on hooktrail.decide.TENANT.

SIGTERM and Ctrl-C drain: first the publisher, then the consumers up to the
stream's last event, then the server. A second one ends it at once; nothing that
was acknowledged is lost by that.`,
		Example: `  hooktrail up
  hooktrail up --hooks hooks.yaml --http-listen 127.0.0.1:9000 --nats-listen 127.0.0.1:4222
  curl -d @event.json -H 'Content-Type: application/cloudevents+json' http://127.0.0.1:8080/v1/events`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.DataDir, opts.NATSURL, opts.Tenant, opts.Logger = shared.DataDir, shared.NATSURL, shared.Tenant, shared.Logger(cmd)
			opts.Login, opts.Auth = broker.Login(shared.Login), broker.AuthMode(shared.Auth)
			opts.Redactor = redaction.Redactor()
			opts.Listening = func(a Addresses) { printAddresses(cmd, shared, a) }
			opts.Audit.Tenant = opts.Tenant
			kept.Apply(&opts.Audit)
			if err := errors.Join(places.Apply(&opts.Audit), setup.Apply(&opts.Track)); err != nil {
				return err
			}
			if err := opts.Validate(); err != nil {
				return cli.Usage("%w", err)
			}
			var err error
			if opts.Hooks, err = hookFile.Load(cmd.Context(), opts.Logger); err != nil {
				return err
			}
			return Up(cmd.Context(), opts)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.HTTPListen, "http-listen", publisher.DefaultListen, "`address` of the HTTP server")
	flags.StringVar(&opts.NATSListen, "nats-listen", "", "loopback `address` of the embedded NATS server; empty is a free port, which it keeps")
	flags.BoolVar(&opts.AllowRemote, "allow-remote", false, "allow an HTTP address that is not of the loopback: without tokens, whoever reaches it may write")
	opts.Access.Register(cmd)
	flags.DurationVar(&opts.DrainTimeout, "drain-timeout", defaultDrain, "how long stopping may take")
	redaction.Register(cmd)
	hookFile.Register(cmd)
	places.Register(cmd)
	kept.Register(cmd)
	setup.RegisterAs(cmd, "tracker-")
	return cmd
}

func printAddresses(cmd *cobra.Command, shared *cli.Shared, a Addresses) {
	if shared.JSON {
		if err := cli.PrintJSON(cmd, a); err != nil {
			shared.Logger(cmd).WarnContext(cmd.Context(), "addresses were not printed", "error", err)
		}
		return
	}
	fmt.Fprintf(cmd.OutOrStdout(), "events    POST %s/v1/events\nhealth    %s/readyz\nmetrics   %s/metrics\nnats      %s\ndata      %s\n",
		a.HTTP, a.HTTP, a.HTTP, a.NATS, cli.Printable(a.DataDir))
}

// Validate reports the first option that cannot be used.
func (o UpOptions) Validate() error {
	if o.DataDir == "" {
		return errors.New("options: DataDir is missing")
	}
	if o.DrainTimeout < 0 {
		return fmt.Errorf("--drain-timeout %v: it cannot be negative", o.DrainTimeout)
	}
	return publisher.Options{Listen: o.HTTPListen, AllowRemote: o.AllowRemote, Access: o.Access}.Validate()
}

// Up runs everything until ctx ends, then drains. It returns nil on a clean
// stop, also when the drain's deadline came first: nothing is lost, and the next
// start goes on. It fails if the broker cannot be had or the address is taken.
func Up(ctx context.Context, opts UpOptions) error {
	return broker.Use(ctx, broker.Options{
		DataDir: opts.DataDir, URL: opts.NATSURL, Listen: opts.NATSListen, Name: "hooktrail", Logger: opts.Logger,
		Login: opts.Login, Auth: opts.Auth,
	}, func(b *broker.Broker) error {
		listener, err := publisher.Listen(ctx, opts.HTTPListen, "--http-listen")
		if err != nil {
			return err
		}
		return newUp(opts, b).serve(ctx, listener)
	})
}

// closeTimeout is what open requests, and an outbox without a deadline, get to end.
const closeTimeout = 10 * time.Second

// up is a running house.
type up struct {
	opts   UpOptions
	house  *house
	gate   gate         // to the publisher
	tokens *bearer.File // of senders
	parts  []*part
}

func newUp(opts UpOptions, b *broker.Broker) *up {
	registry := prometheus.NewRegistry()
	u := &up{opts: opts, house: &house{
		broker: b, dataDir: opts.DataDir, tenant: opts.Tenant, audit: opts.Audit, track: opts.Track, log: opts.Logger, registry: registry,
	}}
	if opts.DrainTimeout > 0 { // the others are to get their part of it, whoever takes no issues
		u.house.track.SettleTimeout = opts.DrainTimeout / 3
	}
	u.parts = append(u.parts, newPart(publisherName, u.publish), newPart(outboxName, u.share))
	for _, group := range u.house.consumers() {
		for _, c := range group {
			u.parts = append(u.parts, newPart(c.name, func(ctx context.Context, report report) error {
				return c.run(ctx, serving, func(p consume.Progress) { report(p.Err, p.Lag) })
			}))
		}
	}
	instrument(registry, u.parts)
	return u
}

// serve runs the parts and the HTTP server until ctx ends or the server fails.
func (u *up) serve(ctx context.Context, listener net.Listener) error {
	var err error
	if u.tokens, err = u.opts.Access.Tokens(u.opts.DataDir); err != nil {
		return errors.Join(err, listener.Close())
	}
	if u.opts.AllowRemote {
		u.opts.Access.Warn(ctx, u.opts.Logger, u.tokens)
	}
	server, err := u.server(ctx)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	served := make(chan error, 1)
	go func() { served <- publisher.ServeOn(server, listener) }()
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	ends := make([]func(), len(u.parts))
	for i, p := range u.parts {
		ends[i] = u.start(running, p)
	}
	scheme := "http://"
	if u.opts.Access.TLS.Cert != "" {
		scheme = "https://"
	}
	address := Addresses{HTTP: scheme + listener.Addr().String(), NATS: u.house.broker.URL(), DataDir: u.opts.DataDir}
	u.opts.Logger.InfoContext(ctx, "hooktrail is up", "http", address.HTTP, "nats", address.NATS, "embedded", u.house.broker.Embedded())
	if u.opts.Listening != nil {
		u.opts.Listening(address)
	}
	var failed error
	select {
	case <-ctx.Done():
	case err := <-served:
		failed = fmt.Errorf("serve http: %w", err)
	}
	u.drain(context.WithoutCancel(ctx), ends)
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	if err := server.Shutdown(closing); err != nil {
		return errors.Join(failed, fmt.Errorf("end requests: %w", err), server.Close())
	}
	return failed
}

// start runs p, and returns what ends it and waits for that.
func (u *up) start(ctx context.Context, p *part) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { p.supervise(ctx, u.opts.Logger) })
	return func() {
		cancel()
		wg.Wait()
	}
}

// drain ends the parts in the order of the flow, and has the consumers handle
// what is in the stream then.
func (u *up) drain(ctx context.Context, ends []func()) {
	began := time.Now()
	log := u.opts.Logger
	log.InfoContext(ctx, "draining", "timeout", u.opts.DrainTimeout.String())
	ctx, cancel := context.WithTimeout(ctx, u.opts.DrainTimeout)
	defer cancel()
	u.gate.drain(began.Add(u.opts.DrainTimeout / 2)) // the consumers get the rest
	for _, end := range ends {                       // the publisher is the first
		end()
	}
	if err := u.house.drain(ctx); err != nil {
		log.WarnContext(ctx, "drain was not finished: the next start goes on", "error", err)
		return
	}
	log.InfoContext(ctx, "drained", "took", time.Since(began).Round(time.Millisecond).String())
}

// publish is the publisher part: the outbox behind POST /v1/events, and what
// decides.
func (u *up) publish(ctx context.Context, report report) error {
	opts := publisher.Options{
		Broker: u.house.broker, DataDir: u.opts.DataDir, Tenant: u.opts.Tenant, Redactor: u.opts.Redactor,
		Logger: u.opts.Logger.With("part", publisherName),
	}
	p, err := publisher.Open(ctx, opts)
	if err != nil {
		return err
	}
	unplug := func() error { return nil }
	d, errD := publisher.NewDecider(u.opts.Hooks, p, opts)
	h, errH := publisher.NewHookService(u.opts.Hooks, p, opts)
	if err = errors.Join(errD, errH); err == nil {
		unplug = h.Plug(ctx)
		u.gate.open(publisher.Handler(p, publisher.HandlerOptions{
			Tenant: u.opts.Tenant, AllowRemote: u.opts.AllowRemote, Logger: u.opts.Logger, Decisions: d.Handler(), Hooks: h,
			Tokens: u.tokens, Rate: u.opts.Access.Rate,
		}))
		report(nil, 0)
		err = d.Run(ctx)
	}
	closing, cancel := context.WithDeadline(context.WithoutCancel(ctx), u.gate.shut())
	defer cancel()
	err = errors.Join(err, unplug())
	closed := p.Close(closing)
	if waiting := p.Stats().Pending; waiting > 0 && errors.Is(closed, context.DeadlineExceeded) {
		u.opts.Logger.WarnContext(ctx, "events stay in the outbox", "events", waiting)
		closed = nil
	}
	return errors.Join(err, closed)
}

// share is the part that forwards what hooks append while no publisher answers.
func (u *up) share(ctx context.Context, report report) error {
	report(nil, 0) // also while another process forwards
	return publisher.RunShared(ctx, publisher.Options{
		Broker: u.house.broker, DataDir: u.opts.DataDir, Logger: u.opts.Logger.With("part", outboxName),
	}, func() {}, u.gate.until)
}

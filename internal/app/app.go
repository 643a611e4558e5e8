package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hooktrail/hooktrail/internal/capture/publisher"
	bearer "github.com/hooktrail/hooktrail/internal/capture/tokens"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/metrics"
	"github.com/hooktrail/hooktrail/internal/stream/admission"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/internal/tracking/tracker"
	"github.com/hooktrail/hooktrail/pkg/hooks/hookfile"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

const closeTimeout = 10 * time.Second

// Options configures [Run].
type Options struct {
	DataDir      string        // required
	NATSURL      string        // of an external broker. Empty starts the embedded broker
	NATSTimeout  time.Duration // limit for connecting to the broker. 0 means the default of package broker
	Login        broker.Login
	Auth         broker.AuthMode
	NATSListen   string // of the embedded broker. Empty chooses a free loopback port once
	HTTPListen   string // required
	AllowRemote  bool   // allow an HTTPListen address outside the loopback
	Access       publisher.Access
	Metrics      metrics.Access    // to /metrics
	Tenants      *admission.Policy // accepted by publisher and auditor. Nil accepts all
	Tenant       string            // empty means all tenants
	DrainTimeout time.Duration
	Heartbeat    time.Duration // of all outboxes, as in [publish.Options]
	Quota        int64         // of the publisher's outbox, as in [publish.Options]
	Redactor     publish.Redactor
	Hooks        *hookfile.File  // nil allows everything
	Audit        auditor.Options // anchors, retention and tiles only
	Track        tracker.Options // rules and backend only
	Logger       *slog.Logger
	Listening    func(Addresses) // called once the HTTP server accepts events
}

// Addresses are the network addresses of the services.
type Addresses struct {
	HTTP    string `json:"http"` // unix://PATH without a TCP address
	NATS    string `json:"nats"`
	DataDir string `json:"data_dir"`
}

// Validate reports the first invalid option.
func (o Options) Validate() error {
	if o.DataDir == "" {
		return errors.New("options: DataDir is missing")
	}
	if o.DrainTimeout < 0 {
		return fmt.Errorf("--drain-timeout %v: it cannot be negative", o.DrainTimeout)
	}
	if err := o.Metrics.Validate(); err != nil {
		return err
	}
	return publisher.Options{Listen: o.HTTPListen, AllowRemote: o.AllowRemote, Access: o.Access}.Validate()
}

// Run runs all services until ctx ends, and then drains them. It fails if the broker is
// unreachable, the HTTP address is in use, or another Run serves the data directory.
func Run(ctx context.Context, opts Options) error {
	return broker.Use(ctx, broker.Options{
		DataDir: opts.DataDir, URL: opts.NATSURL, Listen: opts.NATSListen, Name: "hooktrail", Logger: opts.Logger,
		Login: opts.Login, Auth: opts.Auth, ConnectTimeout: opts.NATSTimeout, Later: true,
	}, func(b *broker.Broker) (err error) {
		lock, err := hold(opts.DataDir)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, lock.Unlock()) }()
		listener, err := publisher.Listen(ctx, opts.HTTPListen, "--http-listen")
		if err != nil {
			return err
		}
		return newApp(opts, b).serve(ctx, listener)
	})
}

type app struct {
	opts      Options
	consumers Consumers
	gate      gate         // to the publisher's handler
	tokens    *bearer.File // of HTTP senders
	services  []*service   // in the order of the data flow
	registry  *prometheus.Registry
}

func newApp(opts Options, b *broker.Broker) *app {
	a := &app{opts: opts, registry: prometheus.NewRegistry()}
	opts.Audit.Heartbeat, opts.Track.Heartbeat = opts.Heartbeat, opts.Heartbeat
	opts.Audit.Admit, opts.Audit.Policy = opts.Tenants.Admit, opts.Tenants.Fingerprint()
	a.consumers = Consumers{
		Broker: b, DataDir: opts.DataDir, Tenant: opts.Tenant, Audit: opts.Audit, Track: opts.Track,
		Logger: opts.Logger, Registry: a.registry,
	}
	if opts.DrainTimeout > 0 {
		// The tracker gets a third of the drain time, so that an unreachable backend leaves time
		// for the other services.
		a.consumers.Track.SettleTimeout = opts.DrainTimeout / 3
	}
	a.services = append(a.services, newService(publisherName, a.publish), newService(outboxName, a.forwardShared))
	for _, stage := range a.consumers.stages() {
		for _, c := range stage {
			a.services = append(a.services, newService(c.name, func(ctx context.Context, report report) error {
				return c.run(ctx, serving, func(p consume.Progress) { report(p.Err, p.Lag) })
			}))
		}
	}
	instrument(a.registry, a.services)
	return a
}

func (a *app) serve(ctx context.Context, listener net.Listener) error {
	var err error
	if a.tokens, err = a.opts.Access.Tokens(a.opts.DataDir); err != nil {
		return errors.Join(err, listener.Close())
	}
	if a.opts.AllowRemote {
		a.opts.Access.Warn(ctx, a.opts.Logger, a.tokens)
	}
	server, err := a.server(ctx)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	a.endorse(ctx)
	onSocket, removeSocket, err := a.opts.Access.ServeSocket(ctx, server, a.opts.Logger)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	served := make(chan error, 1)
	go func() { served <- a.opts.Access.ServeOn(server, listener) }()
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	stops := make([]func(), len(a.services))
	for i, s := range a.services {
		stops[i] = a.start(running, s)
	}
	a.announce(ctx, listener.Addr())
	var failed error
	select {
	case <-ctx.Done():
	case err := <-served:
		failed = fmt.Errorf("serve http: %w", err)
	case err := <-onSocket:
		failed = fmt.Errorf("serve the socket: %w", err)
	}
	a.drain(context.WithoutCancel(ctx), stops)
	closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	if err := server.Shutdown(closing); err != nil {
		failed = errors.Join(failed, fmt.Errorf("end requests: %w", err), server.Close())
	}
	return errors.Join(failed, removeSocket())
}

func (a *app) endorse(ctx context.Context) {
	o := a.opts.Audit
	o.DataDir, o.Logger = a.opts.DataDir, a.opts.Logger.With("part", auditorName)
	if err := auditor.EndorseIssuer(ctx, o); err != nil {
		o.Logger.DebugContext(ctx, "issuer of the data directory not endorsed yet", "error", err)
	}
}

func (a *app) announce(ctx context.Context, listening net.Addr) {
	scheme := "http://"
	if a.opts.Access.TLS.Cert != "" {
		scheme = "https://"
	}
	b := a.consumers.Broker
	if listening.String() == publisher.NoAddress {
		scheme, listening = "unix://", &net.UnixAddr{Name: a.opts.Access.Socket.Path}
	}
	addresses := Addresses{HTTP: scheme + listening.String(), NATS: b.URL(), DataDir: a.opts.DataDir}
	a.opts.Logger.InfoContext(ctx, "hooktrail started", "http", addresses.HTTP, "nats", addresses.NATS, "embedded", b.Embedded())
	if err := (holder{os.Getpid(), addresses.HTTP}).tell(a.opts.DataDir); err != nil {
		a.opts.Logger.WarnContext(ctx, "address was not stored", "error", err)
	}
	if a.opts.Listening != nil {
		a.opts.Listening(addresses)
	}
}

func (a *app) start(ctx context.Context, s *service) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() { s.supervise(ctx, a.opts.Logger) })
	return func() {
		cancel()
		wg.Wait()
	}
}

func (a *app) drain(ctx context.Context, stops []func()) {
	began := time.Now()
	log := a.opts.Logger
	log.InfoContext(ctx, "drain started", "timeout", a.opts.DrainTimeout.String())
	ctx, cancel := context.WithTimeout(ctx, a.opts.DrainTimeout)
	defer cancel()
	a.gate.drain(began.Add(a.opts.DrainTimeout / 2)) // leaves the consumers the other half
	for _, stop := range stops {
		stop()
	}
	if err := a.consumers.Drain(ctx); err != nil {
		log.WarnContext(ctx, "drain incomplete, the next start resumes it", "error", err)
		return
	}
	log.InfoContext(ctx, "drain completed", "took", time.Since(began).Round(time.Millisecond).String())
}

func (a *app) publish(ctx context.Context, report report) error {
	opts := publisher.Options{
		Broker: a.consumers.Broker, DataDir: a.opts.DataDir, Tenant: a.opts.Tenant, Tenants: a.opts.Tenants, Redactor: a.opts.Redactor,
		Heartbeat: a.opts.Heartbeat, Quota: a.opts.Quota, Logger: a.opts.Logger.With("part", publisherName),
	}
	p, err := publisher.Open(ctx, opts)
	if err != nil {
		return err
	}
	sent, decided := publisher.Limit(p, a.opts.Access.Limits)
	stopHooks, stopIdle := func() error { return nil }, func() {}
	idle := publisher.NewIdleRuns(p, opts)
	d, errD := publisher.NewDecider(a.opts.Hooks, idle.Ended(decided), opts)
	h, errH := publisher.NewHookService(a.opts.Hooks, idle.Others(decided), opts)
	if err = errors.Join(errD, errH); err == nil {
		stopHooks, stopIdle = h.Start(ctx), idle.Start(ctx)
		a.gate.open(publisher.Handler(sent, publisher.HandlerOptions{
			Tenant: a.opts.Tenant, AllowRemote: a.opts.AllowRemote, Logger: a.opts.Logger, Decisions: d.Handler(), Hooks: h, Idle: idle,
			Tokens: a.tokens, Tenants: a.opts.Tenants, DataDir: a.opts.DataDir,
		}), func() error { return p.Stats().Full })
		report(nil, 0)
		err = d.Run(ctx)
	}
	deadline := a.gate.close()
	err = errors.Join(err, stopHooks())
	stopIdle()
	return errors.Join(err, publisher.Close(ctx, p, deadline, a.opts.Logger))
}

func (a *app) forwardShared(ctx context.Context, report report) error {
	report(nil, 0) // ready, even while another process forwards the outbox
	return publisher.RunShared(ctx, publisher.Options{
		Broker: a.consumers.Broker, DataDir: a.opts.DataDir, Heartbeat: a.opts.Heartbeat,
		Logger: a.opts.Logger.With("part", outboxName),
	}, func() {}, a.gate.closeBy)
}

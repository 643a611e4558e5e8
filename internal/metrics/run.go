package metrics

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/stream/consume"
)

// Consumer is the name of the durable NATS consumer with which the metrics service reads the
// stream.
const Consumer = "metrics"

// DefaultListen is the default address of the HTTP server.
const DefaultListen = "127.0.0.1:9464"

const (
	labelLimit      = 100 // values of a label in one metric
	shutdownTimeout = 5 * time.Second
	headerTimeout   = 10 * time.Second
)

var errStarting = errors.New("the stream is not being read yet")

// Options configures [Run]. Broker and DataDir are required.
type Options struct {
	Broker  *broker.Broker
	DataDir string
	Tenant  string // count only this tenant; empty means all
	Drain   bool   // return after all messages that the stream has at the start

	Listen string // address of /metrics, /livez and /readyz; empty for no server
	Access Access
	// Registry receives the Prometheus collectors of Run until Run returns. nil means a private
	// registry.
	Registry  *prometheus.Registry
	Progress  func(consume.Progress)
	Listening func(address net.Addr)
	Logger    *slog.Logger

	batch int // messages in one transaction; only for tests
}

func (o Options) withDefaults() Options {
	if o.Registry == nil {
		o.Registry = prometheus.NewRegistry()
	}
	if o.Progress == nil {
		o.Progress = func(consume.Progress) {}
	}
	if o.Listening == nil {
		o.Listening = func(net.Addr) {}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o
}

// Run counts the events of the stream until ctx ends. With Drain, it ends after the last stored
// event. If Listen is set, Run serves the counts as metrics.
//
// Only one process can use the stored counts, so Run first waits until other processes have ended.
func Run(ctx context.Context, opts Options) (err error) {
	opts = opts.withDefaults()
	if opts.Broker == nil || opts.DataDir == "" {
		return errors.New("metrics: options: Broker and DataDir are required")
	}
	s, err := openState(ctx, opts.DataDir, opts.Tenant, labelLimit, opts.Logger)
	if errors.Is(err, context.Canceled) && !opts.Drain {
		return nil
	}
	if err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	defer func() { err = errors.Join(err, s.close()) }()
	c := newCollector(s, Consumer)
	if err := opts.Registry.Register(c); err != nil {
		return fmt.Errorf("metrics: register: %w", err)
	}
	defer opts.Registry.Unregister(c)
	if opts.Listen == "" {
		return read(ctx, opts, s, c)
	}
	return serve(ctx, opts, s, c)
}

func read(ctx context.Context, opts Options, s *state, c *collector) error {
	return consume.Run(ctx, opts.Broker.JetStream(), consume.Options{
		Durable: Consumer, Space: opts.Broker.Space(), Tenant: opts.Tenant, Batch: opts.batch, Drain: opts.Drain, Logger: opts.Logger,
		Progress: func(p consume.Progress) {
			c.note(p)
			opts.Progress(p)
		},
		OnStreamChanged: func(reason string) error {
			opts.Logger.WarnContext(ctx, "counting continued in another stream", "reason", reason)
			return nil
		},
	}, s)
}

func serve(ctx context.Context, opts Options, s *state, c *collector) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", opts.Listen)
	if err != nil {
		return fmt.Errorf("metrics: %w", err)
	}
	own := []prometheus.Collector{collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})}
	for _, one := range own {
		if err := opts.Registry.Register(one); err == nil {
			defer opts.Registry.Unregister(one)
		}
	}
	server := &http.Server{Handler: routes(opts, c.ready), ReadHeaderTimeout: headerTimeout}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		wg     sync.WaitGroup
		served error
	)
	wg.Go(func() {
		defer cancel()
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			served = fmt.Errorf("metrics: serve: %w", err)
		}
	})
	opts.Logger.InfoContext(ctx, "metrics served", "address", listener.Addr().String())
	opts.Listening(listener.Addr())
	err = read(ctx, opts, s, c)
	last, stop := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
	defer stop()
	err = errors.Join(err, server.Shutdown(last))
	wg.Wait()
	return errors.Join(err, served)
}

func routes(opts Options, ready func() error) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", opts.Access.Handler(opts.Registry))
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := ready(); err != nil {
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintln(w, "ok")
	})
	return mux
}

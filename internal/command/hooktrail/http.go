package hooktrail

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/hooktrail/hooktrail/internal/metrics"
)

// server returns the HTTP server of the house.
func (u *up) server(ctx context.Context) (*http.Server, error) {
	mux := http.NewServeMux()
	mux.Handle("/v1/", &u.gate)
	mux.Handle("GET /metrics", metrics.Handler(u.house.registry))
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", u.readyz)
	return u.opts.Access.Server(ctx, mux, u.opts.Logger)
}

// Readiness is the answer of /readyz.
type Readiness struct {
	Ready    bool         `json:"ready"`
	Draining bool         `json:"draining,omitempty"`
	Parts    []PartStatus `json:"parts"`
	Broker   BrokerStatus `json:"broker"`
}

// BrokerStatus is what /readyz says of the broker.
type BrokerStatus struct {
	URL       string   `json:"url"`
	Embedded  bool     `json:"embedded"`
	Connected bool     `json:"connected"`
	Warnings  []string `json:"warnings,omitempty"` // what an operator should look at; they do not make the house unready
}

// readiness returns how the house stands. A broker that is away is no reason
// not to be ready: the outbox takes events meanwhile.
func (u *up) readiness() Readiness {
	b := u.house.broker
	r := Readiness{Draining: u.gate.draining(), Broker: BrokerStatus{
		URL: b.URL(), Embedded: b.Embedded(), Connected: b.Conn().IsConnected(), Warnings: b.Warnings(),
	}}
	r.Ready = !r.Draining
	for _, p := range u.parts {
		status := p.current()
		r.Parts = append(r.Parts, status)
		r.Ready = r.Ready && status.State == PartRunning
	}
	return r
}

func (u *up) readyz(w http.ResponseWriter, r *http.Request) {
	status := http.StatusOK
	readiness := u.readiness()
	if !readiness.Ready {
		status = http.StatusServiceUnavailable
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(readiness); err != nil {
		u.opts.Logger.DebugContext(r.Context(), "reply was not read", "error", err)
	}
}

// instrument shows the parts beside what metrics counts.
func instrument(registry *prometheus.Registry, parts []*part) {
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for _, p := range parts {
		of := prometheus.Labels{"part": p.name}
		registry.MustRegister(
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Name: "hooktrail_part_ready", ConstLabels: of, Help: "Whether a part of the house runs (1) or not (0).",
			}, func() float64 {
				if p.current().State == PartRunning {
					return 1
				}
				return 0
			}),
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Name: "hooktrail_part_lag_messages", ConstLabels: of, Help: "Messages of the stream that a part has not handled.",
			}, func() float64 { return float64(p.current().Lag) }),
			prometheus.NewCounterFunc(prometheus.CounterOpts{
				Name: "hooktrail_part_restarts_total", ConstLabels: of, Help: "How often a part of the house failed and was begun again.",
			}, func() float64 { return float64(p.current().Restarts) }),
		)
	}
}

// gate leads to the publisher's handler while there is one.
type gate struct {
	mu       sync.RWMutex // guards what follows
	handler  http.Handler
	deadline time.Time // of the publisher's end, once the house drains
}

// ServeHTTP implements [http.Handler].
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.RLock()
	handler := g.handler
	g.mu.RUnlock()
	if handler == nil {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "the publisher is not running at present", http.StatusServiceUnavailable)
		return
	}
	handler.ServeHTTP(w, r)
}

func (g *gate) open(handler http.Handler) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.handler = handler
}

// shut turns requests away, and returns the time at which the publisher has to
// have ended.
func (g *gate) shut() (deadline time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.handler = nil
	return g.endsBy()
}

// until returns the time at which who sends has to have ended.
func (g *gate) until() (deadline time.Time) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.endsBy()
}

// endsBy returns the deadline. g.mu is held.
func (g *gate) endsBy() time.Time {
	if g.deadline.IsZero() {
		return time.Now().Add(closeTimeout)
	}
	return g.deadline
}

// drain begins the end of the house.
func (g *gate) drain(deadline time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.deadline = deadline
}

func (g *gate) draining() bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return !g.deadline.IsZero()
}

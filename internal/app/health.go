package app

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
)

func (a *app) server(ctx context.Context) (*http.Server, error) {
	mux := http.NewServeMux()
	mux.Handle("/v1/", &a.gate)
	mux.Handle("GET /metrics", a.opts.Metrics.Handler(a.registry))
	mux.HandleFunc("GET /livez", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "ok") })
	mux.HandleFunc("GET /readyz", a.readyz)
	return a.opts.Access.Server(ctx, mux, a.opts.Logger)
}

// Readiness is the answer of /readyz.
type Readiness struct {
	Ready    bool            `json:"ready"`
	Draining bool            `json:"draining,omitempty"`
	Services []ServiceStatus `json:"parts"`
	Broker   BrokerStatus    `json:"broker"`
}

// BrokerStatus describes the broker in the answer of /readyz.
type BrokerStatus struct {
	URL       string   `json:"url"`
	Embedded  bool     `json:"embedded"`
	Connected bool     `json:"connected"`
	Warnings  []string `json:"warnings,omitempty"` // for operators, without effect on Ready
}

func (a *app) readiness() Readiness {
	b := a.consumers.Broker
	r := Readiness{Draining: a.gate.draining(), Broker: BrokerStatus{
		URL: b.URL(), Embedded: b.Embedded(), Connected: b.Conn().IsConnected(), Warnings: b.Warnings(),
	}}
	r.Ready = !r.Draining
	for _, s := range a.services {
		status := s.current()
		if err := a.gate.refusal(); err != nil && s.name == publisherName && status.State == Running {
			status.State, status.Error = Stuck, err.Error()
		}
		r.Services = append(r.Services, status)
		r.Ready = r.Ready && status.State == Running
	}
	return r
}

func (a *app) readyz(w http.ResponseWriter, r *http.Request) {
	status := http.StatusOK
	readiness := a.readiness()
	if !readiness.Ready {
		status = http.StatusServiceUnavailable
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	enc := json.NewEncoder(w)
	enc.SetIndent("", "  ")
	if err := enc.Encode(readiness); err != nil {
		a.opts.Logger.DebugContext(r.Context(), "client did not read the reply", "error", err)
	}
}

func instrument(registry *prometheus.Registry, services []*service) {
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	for _, s := range services {
		labels := prometheus.Labels{"part": s.name}
		registry.MustRegister(
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Name: "hooktrail_part_ready", ConstLabels: labels, Help: "1 if the service is running, 0 otherwise.",
			}, func() float64 {
				if s.current().State == Running {
					return 1
				}
				return 0
			}),
			prometheus.NewGaugeFunc(prometheus.GaugeOpts{
				Name: "hooktrail_part_lag_messages", ConstLabels: labels, Help: "Stream messages that the service has not handled, including received ones that it could not commit.",
			}, func() float64 { return float64(s.current().Lag) }),
			prometheus.NewCounterFunc(prometheus.CounterOpts{
				Name: "hooktrail_part_restarts_total", ConstLabels: labels, Help: "Restarts of the service after failures.",
			}, func() float64 { return float64(s.current().Restarts) }),
		)
	}
}

package hooktrail

import (
	"context"
	"errors"
	"log/slog"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/metrics"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/internal/tracking/tracker"
)

// house is a broker and what the services need to work on it.
type house struct {
	broker   *broker.Broker
	dataDir  string
	tenant   string          // empty: all
	audit    auditor.Options // where the auditor shows what it has signed; the rest is the house's
	track    tracker.Options // how the tracker decides, and where issues are kept; the rest is the house's
	log      *slog.Logger
	registry *prometheus.Registry // where metrics shows its numbers; nil: nowhere
}

// mode says until when a consumer reads.
type mode bool

const (
	serving  mode = false // until its context ends
	draining mode = true  // until all is handled that is in the stream now
)

// consumer is a service that reads the stream.
type consumer struct {
	name string
	run  func(ctx context.Context, m mode, progress func(consume.Progress)) error
}

// The names of the parts.
const (
	publisherName = "publisher"
	outboxName    = "outbox"
	auditorName   = "auditor"
	trackerName   = "tracker"
	metricsName   = "metrics"
)

// consumers returns the services that read the stream, in groups: what one group
// publishes is read by the next.
func (h *house) consumers() [][]consumer {
	return [][]consumer{
		{{trackerName, h.runTracker}},
		{{auditorName, h.runAuditor}, {metricsName, h.runMetrics}},
	}
}

func (h *house) runAuditor(ctx context.Context, m mode, progress func(consume.Progress)) error {
	o := h.audit
	o.Broker, o.DataDir, o.Tenant, o.Drain = h.broker, h.dataDir, h.tenant, bool(m)
	o.Progress, o.Logger = progress, h.log.With("part", auditorName)
	if m == draining {
		o.TilesListen = "" // for what is left
	}
	return auditor.Run(ctx, o)
}

func (h *house) runTracker(ctx context.Context, m mode, progress func(consume.Progress)) error {
	o := h.track
	o.Broker, o.DataDir, o.Tenant, o.Drain = h.broker, h.dataDir, h.tenant, bool(m)
	o.Progress, o.Logger = progress, h.log.With("part", trackerName)
	return tracker.Run(ctx, o)
}

func (h *house) runMetrics(ctx context.Context, m mode, progress func(consume.Progress)) error {
	return metrics.Run(ctx, metrics.Options{
		Broker: h.broker, DataDir: h.dataDir, Tenant: h.tenant, Drain: bool(m), Registry: h.registry,
		Progress: progress, Logger: h.log.With("part", metricsName),
	})
}

// drain has all consumers handle everything that is in the stream, what they
// themselves publish included.
func (h *house) drain(ctx context.Context) error {
	var errs []error
	for _, group := range h.consumers() {
		var wg sync.WaitGroup
		ended := make([]error, len(group))
		for i, c := range group {
			wg.Go(func() { ended[i] = c.run(ctx, draining, nil) })
		}
		wg.Wait()
		errs = append(errs, ended...)
	}
	return errors.Join(errs...)
}

package app

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

// Consumers runs the services that read the stream.
type Consumers struct {
	Broker   *broker.Broker
	DataDir  string
	Tenant   string          // empty means all tenants
	Audit    auditor.Options // anchors, retention and tiles only
	Track    tracker.Options // rules and backend only
	Logger   *slog.Logger
	Registry *prometheus.Registry // for the metrics, or nil
}

type mode bool

const (
	serving  mode = false // until its context ends
	draining mode = true  // up to the last message of the stream
)

type consumer struct {
	name string
	run  func(ctx context.Context, m mode, progress func(consume.Progress)) error
}

const (
	publisherName = "publisher"
	outboxName    = "outbox"
	auditorName   = "auditor"
	trackerName   = "tracker"
	metricsName   = "metrics"
)

// stages orders the services, because each group reads the events that earlier groups publish.
func (c Consumers) stages() [][]consumer {
	return [][]consumer{
		{{trackerName, c.runTracker}},
		{{auditorName, c.runAuditor}, {metricsName, c.runMetrics}},
	}
}

// Drain runs the consumers until they have handled every message in the stream. This includes the
// messages that the consumers publish while they drain.
func (c Consumers) Drain(ctx context.Context) error {
	var errs []error
	for _, stage := range c.stages() {
		var wg sync.WaitGroup
		results := make([]error, len(stage))
		for i, consumer := range stage {
			wg.Go(func() { results[i] = consumer.run(ctx, draining, nil) })
		}
		wg.Wait()
		errs = append(errs, results...)
	}
	return errors.Join(errs...)
}

func (c Consumers) runAuditor(ctx context.Context, m mode, progress func(consume.Progress)) error {
	o := c.Audit
	o.Broker, o.DataDir, o.Tenant, o.Drain = c.Broker, c.DataDir, c.Tenant, bool(m)
	o.Progress, o.Logger = progress, c.Logger.With("part", auditorName)
	if m == draining {
		o.TilesListen = "" // a drain serves no readers
	}
	return auditor.Run(ctx, o)
}

func (c Consumers) runTracker(ctx context.Context, m mode, progress func(consume.Progress)) error {
	o := c.Track
	o.Broker, o.DataDir, o.Tenant, o.Drain = c.Broker, c.DataDir, c.Tenant, bool(m)
	o.Progress, o.Logger = progress, c.Logger.With("part", trackerName)
	return tracker.Run(ctx, o)
}

func (c Consumers) runMetrics(ctx context.Context, m mode, progress func(consume.Progress)) error {
	return metrics.Run(ctx, metrics.Options{
		Broker: c.Broker, DataDir: c.DataDir, Tenant: c.Tenant, Drain: bool(m), Registry: c.Registry,
		Progress: progress, Logger: c.Logger.With("part", metricsName),
	})
}

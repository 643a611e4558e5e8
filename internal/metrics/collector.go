package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/hooktrail/hooktrail/internal/stream/consume"
)

type collector struct {
	state    *state
	descs    map[*family]*prometheus.Desc
	lag      *prometheus.Desc
	position *prometheus.Desc
	last     *prometheus.Desc
	healthy  *prometheus.Desc

	mu       sync.Mutex // guards progress; never lock another mutex with it
	progress *consume.Progress
}

func newCollector(s *state, consumer string) *collector {
	c := &collector{state: s, descs: make(map[*family]*prometheus.Desc, len(families))}
	for _, f := range families {
		c.descs[f] = prometheus.NewDesc(f.name, f.help, f.labels, nil)
	}
	of := prometheus.Labels{"consumer": consumer}
	c.lag = prometheus.NewDesc("hooktrail_consumer_lag_messages", "Messages of the stream that are not applied.", nil, of)
	c.position = prometheus.NewDesc("hooktrail_consumer_position", "Stream sequence of the last applied message.", nil, of)
	c.last = prometheus.NewDesc("hooktrail_consumer_last_event_timestamp_seconds",
		"Time when the stream stored the last applied message.", nil, of)
	c.healthy = prometheus.NewDesc("hooktrail_consumer_healthy", "1 if the consumer makes progress, 0 if an error blocks it.", nil, of)
	return c
}

// Describe implements [prometheus.Collector].
func (c *collector) Describe(descs chan<- *prometheus.Desc) {
	for _, f := range families {
		descs <- c.descs[f]
	}
	for _, d := range []*prometheus.Desc{c.lag, c.position, c.last, c.healthy} {
		descs <- d
	}
}

// Collect implements [prometheus.Collector].
func (c *collector) Collect(metrics chan<- prometheus.Metric) {
	c.collectSeries(metrics)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.progress == nil {
		return
	}
	healthy := 1.0
	if c.progress.Err != nil {
		healthy = 0
	}
	metrics <- gauge(c.lag, float64(c.progress.Lag))
	metrics <- gauge(c.position, float64(c.progress.Position.Sequence))
	metrics <- gauge(c.healthy, healthy)
}

func (c *collector) collectSeries(metrics chan<- prometheus.Metric) {
	c.state.mu.RLock()
	defer c.state.mu.RUnlock()
	for _, s := range c.state.series {
		metrics <- c.metric(s)
	}
	if !c.state.last.IsZero() {
		metrics <- gauge(c.last, float64(c.state.last.UnixMicro())/1e6)
	}
}

func (c *collector) metric(s *series) prometheus.Metric {
	desc := c.descs[s.family]
	if s.family.buckets != nil {
		return histogram(desc, s)
	}
	kind := prometheus.CounterValue
	if s.family.gauge {
		kind = prometheus.GaugeValue
	}
	value := float64(s.value)
	if s.family.micros {
		value /= 1e6
	}
	m, err := prometheus.NewConstMetric(desc, kind, value, exposedAll(s.labels)...)
	if err != nil {
		return prometheus.NewInvalidMetric(desc, err)
	}
	return m
}

func histogram(desc *prometheus.Desc, s *series) prometheus.Metric {
	var count uint64
	buckets := make(map[float64]uint64, len(s.family.buckets))
	for i, n := range s.counts {
		count += uint64(n)
		if i < len(s.family.buckets) {
			buckets[s.family.buckets[i].Seconds()] = count
		}
	}
	m, err := prometheus.NewConstHistogram(desc, count, (time.Duration(s.value) * time.Microsecond).Seconds(), buckets, exposedAll(s.labels)...)
	if err != nil {
		return prometheus.NewInvalidMetric(desc, err)
	}
	return m
}

func gauge(desc *prometheus.Desc, value float64) prometheus.Metric {
	m, err := prometheus.NewConstMetric(desc, prometheus.GaugeValue, value)
	if err != nil {
		return prometheus.NewInvalidMetric(desc, err)
	}
	return m
}

func (c *collector) note(p consume.Progress) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.progress = &p
}

func (c *collector) ready() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.progress == nil {
		return errStarting
	}
	return c.progress.Err
}

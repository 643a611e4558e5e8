package provider

import (
	"context"
	"log/slog"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// Meter receives measurements. Its methods must be quick and safe for concurrent use.
type Meter interface {
	// Add adds delta to the counter with this name and these attributes.
	Add(ctx context.Context, name string, delta int64, attributes ...slog.Attr)
	// Record adds value to the distribution with this name and these attributes.
	Record(ctx context.Context, name string, value float64, attributes ...slog.Attr)
}

// Tracer receives finished spans. Span must be safe for concurrent use and must return quickly.
type Tracer interface {
	Span(ctx context.Context, span Span)
}

// Span is a finished operation with its duration.
type Span struct {
	Name        string // the same as the counter of the operation
	Start       time.Time
	Duration    time.Duration
	TraceParent string // W3C trace context of the parent, or empty
	Failed      bool
	Attributes  []slog.Attr
}

// ObservabilityOptions configures an [Observability].
type ObservabilityOptions struct {
	Prefix     string      // prefix of all metric names, default "hooktrail"
	Meter      Meter       // nil counts nothing
	Tracer     Tracer      // nil sends no spans
	Attributes []slog.Attr // added to all measurements and spans, such as the repository
}

// Observability counts and measures tool calls, sessions, prompts, errors, sub-agents, steps and
// runs. Attributes contain names, but no prompts, arguments, results or error texts.
type Observability struct {
	opts ObservabilityOptions
	now  func() time.Time
}

// NewObservability returns an Observability.
func NewObservability(opts ObservabilityOptions) *Observability {
	if opts.Prefix == "" {
		opts.Prefix = "hooktrail"
	}
	return &Observability{opts: opts, now: time.Now}
}

// Name returns "observability".
func (*Observability) Name() string { return "observability" }

func (o *Observability) count(ctx context.Context, name string, attributes ...slog.Attr) {
	if o.opts.Meter != nil {
		o.opts.Meter.Add(ctx, o.opts.Prefix+"."+name, 1, o.with(attributes)...)
	}
}

func (o *Observability) ended(ctx context.Context, meta hooks.Meta, name string, took time.Duration, failed bool, attributes ...slog.Attr) {
	o.count(ctx, name, attributes...)
	if o.opts.Meter != nil {
		o.opts.Meter.Record(ctx, o.opts.Prefix+"."+name+".seconds", took.Seconds(), o.with(attributes)...)
	}
	if o.opts.Tracer == nil {
		return
	}
	end := meta.Time
	if end.IsZero() {
		end = o.now()
	}
	o.opts.Tracer.Span(ctx, Span{
		Name: o.opts.Prefix + "." + name, Start: end.Add(-took), Duration: took,
		TraceParent: meta.Traceparent, Failed: failed, Attributes: o.with(append(attributes, slog.String("run", meta.Run))),
	})
}

func (o *Observability) tokens(ctx context.Context, used *events.Tokens, total int64, attributes ...slog.Attr) {
	if o.opts.Meter == nil {
		return
	}
	if used == nil {
		used = &events.Tokens{Output: total}
	}
	for kind, n := range map[string]int64{
		"input": used.Input, "output": used.Output, "cache_read": used.CacheRead, "cache_creation": used.CacheCreation,
	} {
		if n > 0 {
			o.opts.Meter.Add(ctx, o.opts.Prefix+".tokens", n, o.with(append(attributes, slog.String("kind", kind)))...)
		}
	}
}

func (o *Observability) with(attributes []slog.Attr) []slog.Attr {
	all := make([]slog.Attr, 0, len(o.opts.Attributes)+len(attributes))
	return append(append(all, o.opts.Attributes...), attributes...)
}

func milliseconds(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

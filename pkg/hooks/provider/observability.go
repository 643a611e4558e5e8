package provider

import (
	"context"
	"log/slog"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// Meter takes measurements. Its methods may be called concurrently, and have to
// return soon: they run within the time of a hook.
type Meter interface {
	// Add adds delta to the counter of that name and these attributes.
	Add(ctx context.Context, name string, delta int64, attributes ...slog.Attr)
	// Record puts value into the distribution of that name and these attributes.
	Record(ctx context.Context, name string, value float64, attributes ...slog.Attr)
}

// Tracer takes spans once they have ended. It may be called concurrently, and has
// to return soon.
type Tracer interface {
	Span(ctx context.Context, span Span)
}

// Span is something that took time.
type Span struct {
	Name        string // as its counter
	Start       time.Time
	Duration    time.Duration
	TraceParent string // W3C, of what it is part of; may be empty
	Failed      bool
	Attributes  []slog.Attr
}

// ObservabilityOptions say where measurements go.
type ObservabilityOptions struct {
	Prefix     string      // of all names: "squad" gives "squad.agent.spawn"; "hooktrail" by default
	Meter      Meter       // nil: nothing is counted
	Tracer     Tracer      // nil: no spans
	Attributes []slog.Attr // on everything: the repository, the instance
}

// Observability counts what agents do, and times it. It sees every hook of a
// provider and changes nothing. Prompts, arguments, results and the text of errors
// are in none of its attributes; agents, tools and models are.
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

// Name is "observability".
func (*Observability) Name() string { return "observability" }

// count counts one, with the attributes of everything.
func (o *Observability) count(ctx context.Context, name string, attributes ...slog.Attr) {
	if o.opts.Meter != nil {
		o.opts.Meter.Add(ctx, o.opts.Prefix+"."+name, 1, o.with(attributes)...)
	}
}

// ended counts one that has ended, its time and its span.
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

// tokens counts those of what has ended.
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

// with returns the attributes behind those of everything, in a list of its own.
func (o *Observability) with(attributes []slog.Attr) []slog.Attr {
	all := make([]slog.Attr, 0, len(o.opts.Attributes)+len(attributes))
	return append(append(all, o.opts.Attributes...), attributes...)
}

func milliseconds(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }

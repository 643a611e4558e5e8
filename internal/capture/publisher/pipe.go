package publisher

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"slices"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/internal/stream/admission"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// PipeOptions configure [Pipe].
type PipeOptions struct {
	Broker  *broker.Broker
	DataDir string            // the outbox is DataDir/outbox/pipe
	Tenant  string            // as in [HandlerOptions]
	Name    string            // name of the input in reports
	Tenants *admission.Policy // as in [HandlerOptions]; an event of a refused tenant ends Pipe

	Redactor publish.Redactor // nil for all rules of pkg/redact
	Logger   *slog.Logger
}

// PipeSummary describes what [Pipe] has read and sent.
type PipeSummary struct {
	Counts
	Malformed int         `json:"malformed"`         // lines
	Lines     []Malformed `json:"malformed_lines"`   // the first 1000 lines
	Audited   Audited     `json:"audited,omitempty"` // set by the command
	Sent      Sent        `json:"-"`
}

// Pipe reads CloudEvents, one per line. It returns when the NATS stream has stored all of them. The
// summary is valid even after an error.
func Pipe(ctx context.Context, in io.Reader, opts PipeOptions) (PipeSummary, error) {
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	p, err := openOutbox(ctx, opts.Broker, opts.DataDir,
		publish.Options{Name: "pipe", Tenant: opts.Tenant, Unique: true, UniqueSame: true, Redactor: opts.Redactor, Full: publish.Block, LockWait: lockWait}, opts.Logger)
	if err != nil {
		return PipeSummary{}, err
	}
	lines := interruptible(ctx, func(w io.Writer) error {
		_, err := io.Copy(w, in)
		return err
	})
	defer lines.Close()
	f := feed{sink: admitting{p, opts.Tenants}, runs: map[string]struct{}{}, tenants: map[string]struct{}{}}
	err = f.take(ctx, opts.Name, ingest.CloudEvents(ctx, lines, ingest.Options{
		File: opts.Name, Tenant: orDefault(opts.Tenant), Only: opts.Tenant != "",
	}))
	sum := PipeSummary{Counts: f.counts, Malformed: f.malformed, Lines: f.list}
	sum.Sent = Sent{Producer: p.Stats().Producer, Tenants: slices.Sorted(maps.Keys(f.tenants))}
	return sum, errors.Join(err, closeOutbox(ctx, p, outboxDir(opts.DataDir, "pipe")))
}

type admitting struct {
	sink
	tenants *admission.Policy
}

// Append implements sink.
func (a admitting) Append(ctx context.Context, e events.Event) (events.Event, error) {
	if err := a.tenants.Admit(e.Tenant); err != nil {
		return events.Event{}, err
	}
	return a.sink.Append(ctx, e)
}

func orDefault(tenant string) string { return cmp.Or(tenant, "default") }

func interruptible(ctx context.Context, copyTo func(io.Writer) error) io.ReadCloser {
	out, in := io.Pipe()
	go func() { in.CloseWithError(copyTo(in)) }()
	context.AfterFunc(ctx, func() { in.CloseWithError(ctx.Err()) })
	return out
}

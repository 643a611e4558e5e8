package publisher

import (
	"context"
	"errors"
	"io"
	"log/slog"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// PipeOptions configure [Pipe].
type PipeOptions struct {
	Broker  *broker.Broker
	DataDir string // the outbox is DataDir/outbox/pipe
	Tenant  string // the only accepted tenant, or empty for all with "default" for events without one
	Name    string // name of the input in reports

	Redactor publish.Redactor // nil for all rules of pkg/redact, [publish.NoRedaction] for none
	Logger   *slog.Logger
}

// PipeSummary is the result of [Pipe].
type PipeSummary struct {
	Counts
	Malformed int         `json:"malformed"`       // lines
	Lines     []Malformed `json:"malformed_lines"` // the first 1000 of them
}

// Pipe reads CloudEvents, one per line, until the input ends. It returns once all are
// in the stream. The summary is valid even with an error.
func Pipe(ctx context.Context, in io.Reader, opts PipeOptions) (PipeSummary, error) {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	p, err := openOutbox(ctx, opts.Broker, opts.DataDir,
		publish.Options{Name: "pipe", Tenant: opts.Tenant, Unique: true, Redactor: opts.Redactor}, opts.Logger)
	if err != nil {
		return PipeSummary{}, err
	}
	lines := interruptible(ctx, func(w io.Writer) error {
		_, err := io.Copy(w, in)
		return err
	})
	defer lines.Close()
	f := feed{sink: p, runs: map[string]struct{}{}}
	err = f.take(ctx, opts.Name, ingest.CloudEvents(ctx, lines, ingest.Options{
		File: opts.Name, Tenant: orDefault(opts.Tenant), Only: opts.Tenant != "",
	}))
	sum := PipeSummary{Counts: f.counts, Malformed: f.malformed, Lines: f.list}
	return sum, errors.Join(err, closeOutbox(ctx, p, outboxDir(opts.DataDir, "pipe")))
}

func orDefault(tenant string) string {
	if tenant == "" {
		return "default"
	}
	return tenant
}

// interruptible returns a reader of the bytes that copyTo writes. The reader fails once
// ctx has ended. The goroutine of copyTo ends with its next write, so it may block in
// a read until the process ends. The caller closes the reader.
func interruptible(ctx context.Context, copyTo func(io.Writer) error) io.ReadCloser {
	out, in := io.Pipe()
	go func() { in.CloseWithError(copyTo(in)) }()
	context.AfterFunc(ctx, func() { in.CloseWithError(ctx.Err()) })
	return out
}

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

// PipeOptions say where the events of a pipe go.
type PipeOptions struct {
	Broker  *broker.Broker
	DataDir string // the outbox is DataDir/outbox/pipe
	Tenant  string // the only tenant that is taken; empty takes all, and "default" where an event names none
	Name    string // of the input, for reports

	Redactor publish.Redactor // all rules of pkg/redact when nil; [publish.NoRedaction] opts out
	Logger   *slog.Logger
}

// PipeSummary says what came through a pipe.
type PipeSummary struct {
	Counts
	Malformed int         `json:"malformed"`       // lines
	Lines     []Malformed `json:"malformed_lines"` // the first thousand of them
}

// Pipe reads CloudEvents, one per line, until the input ends, and returns once
// all are in the stream. The summary is valid with an error too.
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

// interruptible returns what copyTo writes, as a reader that fails once ctx has
// ended. A read of copyTo that is under way then cannot be interrupted: its
// goroutine ends with what it reads from, or with the process. The caller closes
// the reader.
func interruptible(ctx context.Context, copyTo func(io.Writer) error) io.ReadCloser {
	out, in := io.Pipe()
	go func() { in.CloseWithError(copyTo(in)) }()
	context.AfterFunc(ctx, func() { in.CloseWithError(ctx.Err()) })
	return out
}

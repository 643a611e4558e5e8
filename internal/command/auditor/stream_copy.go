package auditor

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/command/service"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

// StreamCopy describes whether the stream still has a payload that was erased from the ledger. The
// stream can have it for longer, because the stream deletes messages only by age and size.
type StreamCopy string

// The values of StreamCopy.
const (
	CopyKept    StreamCopy = "kept"    // until it expires
	CopyEndless StreamCopy = "endless" // the stream has no age limit
	CopyGone    StreamCopy = "gone"
	CopyUnknown StreamCopy = "unknown" // the stream is unreadable
)

func (c *Change) streamCopy(cmd *cobra.Command, shared *cli.Shared, r *ledger.Reader, done []ledger.Outcome) {
	c.Stream = CopyUnknown
	last, err := lastOf(cmd.Context(), r, done)
	if err == nil {
		err = broker.Use(cmd.Context(), service.Broker(cmd, shared, subjects.AuditorRole), func(b *broker.Broker) error {
			stream, err := b.JetStream().Stream(cmd.Context(), b.Space().EventStream())
			if err != nil {
				return err
			}
			info := stream.CachedInfo()
			c.Stream, c.Expires = copyOf(last, info.State.FirstTime, info.Config.MaxAge)
			return nil
		})
	}
	if err != nil {
		shared.Logger(cmd).WarnContext(cmd.Context(), "expiry of the stream's copy not known", "error", err)
	}
}

func copyOf(last, first time.Time, maxAge time.Duration) (StreamCopy, *time.Time) {
	switch {
	case first.IsZero() || last.Before(first):
		return CopyGone, nil
	case maxAge == 0:
		return CopyEndless, nil
	}
	return CopyKept, new(last.Add(maxAge).UTC())
}

func lastOf(ctx context.Context, r *ledger.Reader, done []ledger.Outcome) (last time.Time, err error) {
	leaf := int64(-1)
	for _, d := range done {
		for _, span := range d.Order.Leaves {
			leaf = max(leaf, span.Last)
		}
	}
	for e, err := range r.After(ctx, leaf-1) {
		return e.Stored, err
	}
	return last, fmt.Errorf("leaf %d is not in the ledger", leaf)
}

func printStreamCopy(out io.Writer, c Change) {
	switch c.Stream {
	case CopyKept:
		fmt.Fprintf(out, "  the stream keeps its own copy until %s at the latest\n", c.Expires.Format(time.RFC3339))
	case CopyEndless:
		fmt.Fprintln(out, "  the stream keeps its own copy, limited by size and not by age")
	case CopyUnknown:
		fmt.Fprintln(out, "  the stream could not be read and may have a copy")
	case CopyGone:
	}
}

package auditor

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
)

// StreamCopy says what the stream still has of what was destroyed elsewhere: it
// deletes nothing but by its own limits.
type StreamCopy string

// The states of the stream's own copy.
const (
	CopyKept    StreamCopy = "kept"    // until a time
	CopyEndless StreamCopy = "endless" // the stream has no limit of age
	CopyGone    StreamCopy = "gone"
	CopyUnknown StreamCopy = "unknown" // the stream could not be asked
)

// streamCopy fills in what the stream still has of what orders destroyed. That it
// cannot be asked is no failure of the orders.
func (c *Change) streamCopy(cmd *cobra.Command, shared *cli.Shared, r *ledger.Reader, done []ledger.Outcome) {
	c.Stream = CopyUnknown
	last, err := lastOf(cmd.Context(), r, done)
	if err == nil {
		err = broker.Use(cmd.Context(), auditorBroker(cmd, shared), func(b *broker.Broker) error {
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
		shared.Logger(cmd).WarnContext(cmd.Context(), "until when the stream keeps its own copy is not known", "error", err)
	}
}

// copyOf tells what a stream has of messages that it stored until last: first is
// when it stored its first one.
func copyOf(last, first time.Time, maxAge time.Duration) (StreamCopy, *time.Time) {
	switch {
	case first.IsZero() || last.Before(first):
		return CopyGone, nil
	case maxAge == 0:
		return CopyEndless, nil
	}
	return CopyKept, new(last.Add(maxAge).UTC())
}

// lastOf returns when the server stored the last record that orders concern.
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
		fmt.Fprintln(out, "  the stream keeps its own copy: it has no limit of age, only of size")
	case CopyUnknown:
		fmt.Fprintln(out, "  the stream may have a copy of its own, and could not be asked until when")
	case CopyGone:
	}
}

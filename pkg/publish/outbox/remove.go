package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Sent events are also removed from the disk of an idle outbox. Otherwise, an event that was
// erased everywhere else would remain there.

func (f *forwarder) nextRemoval() time.Time {
	if !f.backlog.log.HasOnly(f.backlog.cursor.Next) {
		return time.Time{}
	}
	if f.idleSince.IsZero() {
		f.idleSince = time.Now()
	}
	return f.idleSince.Add(f.opts.KeepSent)
}

func (f *forwarder) removeDue(ctx context.Context) {
	if err := f.removeSent(ctx); err != nil {
		f.status.fail(err)
	}
}

func (f *forwarder) removeSent(ctx context.Context) error {
	f.idleSince = time.Time{}
	return f.seals.withRuns(func() error {
		if err := f.outbox.begin(ctx); err != nil {
			return fmt.Errorf("remove sent events: %w", err)
		}
		defer f.outbox.end()
		c, log := f.backlog.cursor, f.backlog.log
		if !log.HasOnly(c.Next) {
			return nil
		}
		// Write the cursor first, because after the removal only the cursor contains the last
		// numbers.
		err := errors.Join(c.Save(), c.Sync(), f.outbox.ids.Sync())
		if err == nil {
			err = log.Clear()
		}
		f.collector.close() // an open file would still occupy its disk space
		if err != nil {
			return fmt.Errorf("remove sent events: %w", err)
		}
		return nil
	})
}

package publish

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// errStopped is returned to those who wait for a forwarder that has ended.
var errStopped = errors.New("forwarding has ended")

// flushed returns when all that is in the outbox now is settled, up to the last
// record of the outbox's own if ownOnly, or when stopped is closed.
func (o *outbox) flushed(ctx context.Context, ownOnly bool, stopped <-chan struct{}) error {
	end, generation := o.mark(ownOnly)
	for {
		o.mu.Lock()
		low, changed, present := o.low, o.changed, o.generation
		o.mu.Unlock()
		if present != generation {
			end, generation = o.mark(false)
			continue
		}
		if low > end {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-stopped:
			return errStopped
		case <-changed:
		}
	}
}

// mark returns the ordinal of the last record, or of the last own one.
func (o *outbox) mark(ownOnly bool) (ordinal uint64, generation int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if ownOnly {
		return o.own, o.generation
	}
	return o.spool.end(), o.generation
}

// shut ends Append.
func (o *outbox) shut() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.broadcast()
}

// lastTurn is how long who closes a shared outbox waits for its turn, whatever
// time there was to flush it.
const lastTurn = time.Second

// close closes the files and notes that this was a clean end.
func (o *outbox) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastTurn)
	defer cancel()
	if err := o.begin(ctx); err != nil {
		return errors.Join(fmt.Errorf("close outbox: %w", err), o.spool.letGo(), o.losses.close())
	}
	defer o.end()
	err := errors.Join(o.spool.close(), o.losses.close())
	if o.shared != nil {
		err = errors.Join(err, o.spool.syncAll())
	}
	if o.ids != nil {
		err = errors.Join(err, o.ids.close())
	}
	if err != nil {
		return fmt.Errorf("close outbox: %w", err)
	}
	o.id.Open = false
	return o.id.save(o.opts.Dir)
}

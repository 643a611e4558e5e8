package publish

import (
	"context"
	"errors"
)

// errStopped is returned to callers that wait for a forwarder that has ended.
var errStopped = errors.New("forwarder has ended")

// backlog counts the records that wait for the stream. outbox.mu guards it.
type backlog struct {
	first      uint64        // ordinal of the first record that waits
	own        uint64        // ordinal of the last event that the outbox itself made
	records    uint64        // number of records that wait
	bytes      int64         // size of the records that wait
	generation int           // changes when records get new ordinals
	changed    chan struct{} // closed and replaced when records leave the backlog
}

func (b *backlog) add(records uint64, bytes int64) {
	b.records += records
	b.bytes += bytes
}

func (b *backlog) release(first, records uint64, bytes int64) {
	b.first = first
	b.records -= min(records, b.records)
	b.bytes -= min(bytes, b.bytes)
}

func (b *backlog) broadcast() {
	close(b.changed)
	b.changed = make(chan struct{})
}

// selection selects the records that [outbox.waitSent] waits for.
type selection int

const (
	allRecords selection = iota
	ownRecords           // up to the last event that the outbox itself made
)

// waitSent waits until the stream has settled all selected records that are in
// the outbox now. It returns early when ctx ends or stopped is closed.
func (o *outbox) waitSent(ctx context.Context, which selection, stopped <-chan struct{}) error {
	end, generation := o.mark(which)
	for {
		o.mu.Lock()
		first, changed, present := o.backlog.first, o.backlog.changed, o.backlog.generation
		o.mu.Unlock()
		if present != generation {
			end, generation = o.mark(allRecords)
			continue
		}
		if first > end {
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

// mark returns the ordinal of the last selected record.
func (o *outbox) mark(which selection) (ordinal uint64, generation int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if which == ownRecords {
		return o.backlog.own, o.backlog.generation
	}
	return o.log.End(), o.backlog.generation
}

package outbox

import (
	"context"
	"errors"
)

var errStopped = errors.New("forwarder has ended")

type backlog struct {
	first      uint64 // ordinal of the first record
	own        uint64 // last event that the outbox itself made
	records    uint64
	bytes      int64
	generation int           // grows when records get new ordinals
	changed    chan struct{} // closed and replaced when records leave the outbox
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

type selection int

const (
	allRecords selection = iota
	ownRecords           // records up to the last event made by the outbox itself
)

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

func (o *outbox) mark(which selection) (ordinal uint64, generation int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if which == ownRecords {
		return o.backlog.own, o.backlog.generation
	}
	return o.log.End(), o.backlog.generation
}

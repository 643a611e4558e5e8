package publish

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// outbox numbers events and keeps them until the stream has them.
type outbox struct {
	opts  Options
	space subjects.Space
	wake  chan struct{} // has room for one: there is something to forward

	mu     sync.Mutex // guards what follows; held while an event is numbered and written, so that numbers are in order; see begin
	id     identity
	spool  *spool
	ids    *idSet // nil unless Options.Unique
	losses *lossFile
	next   map[string]uint64 // number of the next event, per tenant; absent is 1
	gaps   gaps              // numbers that are lost, and why; for manifests
	owed   []gap             // those of them that have to be recorded and are in no loss slot
	buf    []byte            // records being encoded

	own        uint64        // ordinal of the last record of the outbox's own
	low        uint64        // ordinal of the first record that waits
	pending    uint64        // how many wait
	waiting    int64         // their bytes
	generation int           // how often the outbox started over: ordinals begin again
	closed     bool          // Append is over
	changed    chan struct{} // closed and replaced when one of these changes
	spare      spare
	shared     *sharing // nil unless other processes append too

	appended, shed, damaged uint64 // for Stats
}

const (
	// roomPoll is how often a full disk is tried again.
	roomPoll = 200 * time.Millisecond
	// keptBuffer is the largest buffer that is kept for the next event.
	keptBuffer = 1 << 20
)

// append numbers events of one tenant and writes them next to each other, all
// or none. It sets their producer and sequence.
func (o *outbox) append(ctx context.Context, batch []*events.Event) error {
	ordinal, err := o.enter(ctx, batch)
	if err != nil {
		return err
	}
	if o.opts.Durability == DiskDurability {
		return o.currentSpool().sync(ordinal)
	}
	return nil
}

func (o *outbox) enter(ctx context.Context, batch []*events.Event) (ordinal uint64, err error) {
	for {
		ordinal, changed, err := o.tryEnter(ctx, batch)
		if changed == nil {
			return ordinal, err
		}
		if err := waitForRoom(ctx, changed, err); err != nil {
			return 0, err
		}
	}
}

// tryEnter writes batch, or says with what change it is worth trying again.
func (o *outbox) tryEnter(ctx context.Context, batch []*events.Event) (ordinal uint64, changed <-chan struct{}, err error) {
	if err := o.begin(ctx); err != nil {
		return 0, nil, err
	}
	defer o.end()
	if o.closed {
		return 0, nil, ErrClosed
	}
	if last := batch[len(batch)-1]; o.ids != nil && o.ids.has(hashEvent(last)) {
		return 0, nil, ErrDuplicate
	}
	err = o.admit(batch)
	switch {
	case err == nil:
		return o.spool.end(), nil, nil
	case !errors.Is(err, errNoRoom):
		return 0, nil, err
	case o.opts.Full == Shed:
		return 0, nil, o.lose(batch)
	case o.opts.Full == Fail:
		return 0, nil, fmt.Errorf("%w: %w", ErrFull, err)
	}
	return 0, o.changed, err
}

// admit writes batch if there is room for it. o.mu is held.
func (o *outbox) admit(batch []*events.Event) error {
	if err := o.recordGaps(); err != nil {
		return err
	}
	buf, err := o.encode(batch)
	if err != nil {
		return err
	}
	if int64(len(buf)) > o.opts.Quota {
		return fmt.Errorf("%w: %d bytes, its quota is %d", ErrTooLarge, len(buf), o.opts.Quota)
	}
	if o.waiting+int64(len(buf)) > o.opts.Quota {
		return fmt.Errorf("%w: %d bytes wait, %d are allowed", errNoRoom, o.waiting, o.opts.Quota)
	}
	return o.write(buf, batch)
}

// encode numbers batch and returns its records. Nothing is taken yet: encoding
// it again gives the same numbers. o.mu is held.
func (o *outbox) encode(batch []*events.Event) ([]byte, error) {
	buf := o.buf[:0]
	ordinal := o.spool.end()
	sequence := o.nextSequence(batch[0].Tenant)
	for i, e := range batch {
		e.Producer, e.Sequence = o.id.Producer, sequence+uint64(i)
		r := record{
			ordinal: ordinal + 1 + uint64(i), sequence: e.Sequence, id: hashEvent(e),
			tenant: e.Tenant, run: e.Run, kind: string(e.Kind()),
		}
		var start int
		buf, start = beginRecord(buf, &r)
		event := len(buf)
		buf = e.Append(buf)
		if size := len(buf) - event; size > events.MaxBytes {
			return nil, fmt.Errorf("%d bytes are more than an event can have", size)
		}
		endRecord(buf, start, &r)
	}
	if cap(buf) <= keptBuffer {
		o.buf = buf
	}
	return buf, nil
}

// write appends the records of batch. o.mu is held.
func (o *outbox) write(buf []byte, batch []*events.Event) error {
	if err := o.spool.append(buf, o.spool.end()+uint64(len(batch))); err != nil {
		return err
	}
	last := batch[len(batch)-1]
	o.next[last.Tenant] = last.Sequence + 1
	o.waiting += int64(len(buf))
	o.pending += uint64(len(batch))
	o.appended += uint64(len(batch))
	if o.ids != nil {
		for _, e := range batch {
			o.ids.add(hashEvent(e))
		}
	}
	o.poke()
	return nil
}

// record appends an event of the outbox's own, even beyond the quota: there are
// few, and they are what makes a loss or an end known. o.mu is held.
func (o *outbox) record(e events.Event) error {
	batch := []*events.Event{&e}
	buf, err := o.encode(batch)
	if err == nil {
		err = o.write(buf, batch)
	}
	if err == nil {
		o.own = o.spool.end()
	}
	return err
}

func (o *outbox) nextSequence(tenant string) uint64 { return max(o.next[tenant], 1) }

// poke tells the forwarder that there is something to do.
func (o *outbox) poke() {
	select {
	case o.wake <- struct{}{}:
	default:
	}
}

// waitForRoom returns when it is worth trying again what failed for cause.
func waitForRoom(ctx context.Context, changed <-chan struct{}, cause error) error {
	timer := time.NewTimer(roomPoll)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return fmt.Errorf("%w: %w: %w", ErrFull, cause, ctx.Err())
	case <-changed:
	case <-timer.C:
	}
	return nil
}

// release takes records off the outbox: so many, of so many bytes, before the
// ordinal low.
func (o *outbox) release(ctx context.Context, low, records uint64, bytes int64) {
	err := o.begin(ctx)
	if err != nil {
		// The other processes are told the next time.
		o.mu.Lock()
		defer o.mu.Unlock()
	} else {
		defer o.end()
	}
	o.low = low
	o.pending -= min(records, o.pending)
	o.waiting -= min(bytes, o.waiting)
	if err == nil {
		o.tryRecordGaps()
	}
	o.broadcast()
}

// broadcast wakes those who wait for a change. o.mu is held.
func (o *outbox) broadcast() {
	close(o.changed)
	o.changed = make(chan struct{})
}

func (o *outbox) currentSpool() *spool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.spool
}

// producer returns the id that events are numbered under at present.
func (o *outbox) producer() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.id.Producer
}

// suspect tells whether numbers may stand for events that the disk has lost.
func (o *outbox) suspect() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.id.Suspect
}

func (o *outbox) stats() Stats {
	o.mu.Lock()
	defer o.mu.Unlock()
	return Stats{
		Producer: o.id.Producer, Appended: o.appended, Pending: o.pending, Bytes: o.waiting,
		Shed: o.shed, Damaged: o.damaged,
	}
}

// acknowledgeIDs writes ids of events that the stream has.
func (o *outbox) acknowledgeIDs(ids []idHash) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ids == nil {
		return nil
	}
	for _, id := range ids {
		o.ids.acknowledged(id)
	}
	return o.ids.save()
}

func (o *outbox) syncIDs() error {
	if o.ids == nil {
		return nil
	}
	return o.ids.sync()
}

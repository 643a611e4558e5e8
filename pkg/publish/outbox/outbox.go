package outbox

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/disk"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/segment"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/state"
)

type outbox struct {
	opts    Options
	space   subjects.Space
	ids     *state.IDs // nil unless Options.Unique
	reserve disk.Reserve
	shared  *sharing      // nil unless other processes append too
	wake    chan struct{} // capacity 1, signals records to forward

	// mu guards all fields below, intake.isClosed, and the tail and version of sharing. mu stays
	// locked from numbering to writing, so that numbers ascend. Functions that change the records
	// lock mu with begin.
	mu      sync.Mutex
	id      identity
	log     *segment.Log
	encoder encoder
	numbers numbering
	losses  lossLog
	backlog backlog
	refusal refusal

	appended, shed, damaged uint64 // for Stats
}

func newOutbox(opts Options) *outbox {
	o := &outbox{
		opts: opts, space: opts.space(), reserve: opts.reserve(), wake: make(chan struct{}, 1),
		numbers: numbering{next: map[string]uint64{}}, backlog: backlog{changed: make(chan struct{})},
	}
	o.encoder = encoder{maxEvent: events.MaxBytes, hash: o.hash}
	return o
}

// The caller must call end after a successful begin.
func (o *outbox) begin(ctx context.Context) error {
	if o.shared == nil {
		o.mu.Lock()
		return nil
	}
	if err := o.shared.lock.Lock(ctx); err != nil {
		return err
	}
	o.mu.Lock()
	err := o.shared.refresh()
	if err != nil {
		o.mu.Unlock()
		o.shared.lock.Unlock()
	}
	return err
}

func (o *outbox) end() {
	if o.shared == nil {
		o.mu.Unlock()
		return
	}
	if err := o.shared.saveTail(); err != nil {
		// An outdated tail does no harm, because the next process reads the records after it.
		o.opts.Logger.Warn("tail of shared outbox not written", "error", err)
	}
	o.mu.Unlock()
	o.shared.lock.Unlock()
}

// encode does not mark the numbers as used. The caller must hold o.mu.
func (o *outbox) encode(batch []*events.Event) ([]byte, error) {
	return o.encoder.encode(batch, o.id.Producer, o.log.End()+1, o.numbers.nextOf(batch[0].Tenant))
}

// The caller of write must hold o.mu.
func (o *outbox) write(buf []byte, batch []*events.Event) error {
	noteFirst(o, batch[len(batch)-1].Tenant)
	if err := o.log.Append(buf, o.log.End()+uint64(len(batch))); err != nil {
		return err
	}
	last := batch[len(batch)-1]
	o.numbers.next[last.Tenant] = last.Sequence + 1
	o.backlog.add(uint64(len(batch)), int64(len(buf)))
	o.appended += uint64(len(batch))
	if o.ids != nil {
		for _, e := range batch {
			o.ids.Add(o.hash(e))
		}
	}
	signal(o.wake)
	return nil
}

// writeOwn ignores the quota. The caller must hold o.mu.
func (o *outbox) writeOwn(e events.Event) error {
	batch := []*events.Event{&e}
	buf, err := o.encode(batch)
	if err == nil {
		err = o.write(buf, batch)
	}
	if err == nil {
		o.backlog.own = o.log.End()
	}
	return err
}

func signal(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func (o *outbox) release(ctx context.Context, first, records uint64, bytes int64) {
	err := o.begin(ctx)
	if err != nil {
		// Even if begin failed, release the backlog in this process. Other processes see the
		// change after a later begin.
		o.mu.Lock()
		defer o.mu.Unlock()
	} else {
		defer o.end()
	}
	o.backlog.release(first, records, bytes)
	if err == nil {
		o.tryRecordLosses()
	}
	o.backlog.broadcast()
}

func (o *outbox) producer() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.id.Producer
}

func (o *outbox) isSuspect() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.id.Suspect
}

func (o *outbox) stats() Stats {
	o.mu.Lock()
	defer o.mu.Unlock()
	return Stats{
		Producer: o.id.Producer, Appended: o.appended, Pending: o.backlog.records, Bytes: o.backlog.bytes,
		Shed: o.shed, Damaged: o.damaged, Full: o.full(),
	}
}

const closeTimeout = time.Second

func (o *outbox) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	if err := o.begin(ctx); err != nil {
		return errors.Join(fmt.Errorf("close outbox: %w", err), o.log.Release(), o.losses.file.Close())
	}
	defer o.end()
	err := errors.Join(o.log.Close(), o.losses.file.Close())
	if o.shared != nil {
		err = errors.Join(err, o.log.SyncAll())
	}
	if err = errors.Join(err, o.ids.Close()); err != nil {
		return fmt.Errorf("close outbox: %w", err)
	}
	o.id.Open = false
	return o.id.save(o.opts.Dir)
}

// isKnown checks both hashes of the event, because Options.UniqueSame may have been off when the
// event was stored.
func (o *outbox) isKnown(e *events.Event) bool {
	return o.ids.Has(hashEvent(e)) || o.opts.UniqueSame && o.ids.Has(hashContent(e))
}

func (o *outbox) hash(e *events.Event) segment.IDHash {
	if o.opts.UniqueSame {
		return hashContent(e)
	}
	return hashEvent(e)
}

// hashContent must hash the same fields that the ledger compares when two events have the same id.
func hashContent(e *events.Event) segment.IDHash {
	data, binary := sha256.Sum256(e.Data), sha256.Sum256(e.Binary)
	return segment.HashID(e.Tenant, e.Source, e.ID, e.Type, e.Run, string(data[:]), string(binary[:]))
}

func hashEvent(e *events.Event) segment.IDHash { return segment.HashID(e.Tenant, e.Source, e.ID) }

type encoder struct {
	buf      []byte
	maxEvent int // largest event in bytes, 0 for no limit
	hash     func(*events.Event) segment.IDHash
}

const largestBuffer = 1 << 20

// The next call of encode overwrites the returned bytes.
func (enc *encoder) encode(batch []*events.Event, producer string, ordinal, sequence uint64) ([]byte, error) {
	buf := enc.buf[:0]
	for i, e := range batch {
		e.Producer, e.Sequence = producer, sequence+uint64(i)
		r := segment.Record{
			Ordinal: ordinal + uint64(i), Sequence: e.Sequence, ID: enc.hash(e),
			Tenant: e.Tenant, Run: e.Run, Kind: string(e.Kind()),
		}
		var start int
		buf, start = segment.Begin(buf, &r)
		event := len(buf)
		buf = e.Append(buf)
		if size := len(buf) - event; enc.maxEvent > 0 && size > enc.maxEvent {
			return nil, fmt.Errorf("event has %d bytes, at most %d are allowed", size, enc.maxEvent)
		}
		segment.End(buf, start, &r)
	}
	if cap(buf) <= largestBuffer {
		enc.buf = buf
	}
	return buf, nil
}

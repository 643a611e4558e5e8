package outbox

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/hooktrail/hooktrail/pkg/publish/internal/cursor"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/disk"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/segment"
	"github.com/hooktrail/hooktrail/pkg/publish/transport"
)

// Other goroutines may use only the fields status, seals and now.
type forwarder struct {
	opts   Options
	outbox *outbox
	link   transport.Link
	sender transport.Sender
	status *status
	seals  *seals
	now    chan struct{} // capacity 1, a value ends the wait for more events

	backlog   *waiting
	collector *collector
	chains    *chains
	suspended *suspensions
	delivery  *delivery
	announcer *announcer
	idleSince time.Time // when the outbox became empty, or zero

	keyChanges chan chan error // requests of [Publisher.ChangeKey]
	awaitKey   []chan error    // waiting for the end of the key change
}

type waiting struct {
	producer string
	id       identity
	log      *segment.Log
	cursor   *cursor.Cursor
	read     uint64 // ordinal of the last record that the collector has read
}

func (w *waiting) records() iter.Seq2[segment.Item, error] {
	return func(yield func(segment.Item, error) bool) {
		for it, err := range w.log.All(w.cursor.Next) {
			isWaiting := it.Fault == segment.Intact && it.Ordinal >= w.cursor.Next
			if (isWaiting || err != nil) && !yield(it, err) {
				return
			}
		}
	}
}

func newForwarder(server transport.Server, o *outbox, c *cursor.Cursor) (*forwarder, error) {
	link := server.Link()
	sender, err := server.Sender(link, o.opts.AckWait)
	if err != nil {
		link.Close()
		return nil, err
	}
	f := &forwarder{
		opts: o.opts, outbox: o, link: link, sender: sender, now: make(chan struct{}, 1), keyChanges: make(chan chan error),
		status: &status{logger: o.opts.Logger}, backlog: &waiting{},
	}
	f.seals = &seals{outbox: o, delay: o.opts.SealDelay, status: f.status}
	f.suspended = &suspensions{backlog: f.backlog, status: f.status, logger: o.opts.Logger}
	f.chains = &chains{opts: o.opts, server: server, outbox: o, backlog: f.backlog, seals: f.seals, status: f.status}
	f.collector = &collector{opts: o.opts, backlog: f.backlog, chains: f.chains, suspended: f.suspended, lagging: &laggards{}, limit: o.opts.BatchEvents}
	f.delivery = &delivery{
		opts: o.opts, outbox: o, link: link, sender: sender, backlog: f.backlog,
		chains: f.chains, suspended: f.suspended, collector: f.collector, status: f.status,
	}
	f.announcer = newAnnouncer(f.delivery)
	f.seals.mu.Lock()
	defer f.seals.mu.Unlock()
	f.restart(o.id, o.log, c)
	return f, nil
}

// The caller of restart must hold seals.mu.
func (f *forwarder) restart(id identity, log *segment.Log, c *cursor.Cursor) {
	*f.backlog = waiting{producer: id.Producer, id: id, log: log, cursor: c}
	f.chains.forget()
	f.suspended.clear()
	f.announcer.next = time.Now()
	f.collector.rewind()
	f.seals.restart(c.Runs)
}

func (f *forwarder) run(ctx context.Context) {
	var pause transport.Backoff
	for ctx.Err() == nil {
		err := f.step(ctx)
		if errors.Is(err, errDiverged) {
			err = f.renumberUnsent(ctx)
		}
		if errors.Is(err, transport.ErrConnectionClosed) {
			f.status.fail(err)
			return
		}
		if err != nil && ctx.Err() == nil {
			f.status.fail(err)
			pause.Pause(ctx, nil)
			continue
		}
		pause = transport.Backoff{}
	}
}

func (f *forwarder) step(ctx context.Context) error {
	if f.outbox.isSuspect() {
		if err := f.renumberUnsent(ctx); err != nil {
			return err
		}
	}
	if err := f.changeKey(ctx); err != nil {
		return err
	}
	b, err := f.collector.collect(func(linger <-chan time.Time, hasBegun bool) (bool, error) {
		return f.await(ctx, linger, hasBegun)
	})
	if err == nil {
		err = f.delivery.deliverAll(ctx, b.groups)
	}
	if err != nil {
		f.collector.rewind()
		return err
	}
	f.release(ctx, b)
	return f.announce(ctx)
}

func (f *forwarder) announce(ctx context.Context) error {
	if at := f.announcer.alarm(); at.IsZero() || time.Now().Before(at) {
		return nil
	}
	// Store the cursor first, because after a crash a heartbeat in the stream would not show which
	// events were sent.
	err := f.save()
	if err == nil {
		if err := f.announcer.send(ctx); err != nil {
			return err
		}
		err = f.save()
	}
	if err != nil {
		f.status.fail(err)
	}
	return nil
}

func (f *forwarder) save() error { return f.seals.withRuns(f.backlog.cursor.Save) }

func (f *forwarder) await(ctx context.Context, linger <-chan time.Time, hasBegun bool) (isDone bool, err error) {
	next, err := f.seals.appendDue(ctx, time.Now())
	if err != nil {
		f.status.fail(err)
	}
	due, stop := alarm(next)
	defer stop()
	retry, stop := alarm(f.suspended.nextRetry())
	defer stop()
	now := f.now
	var remove, beat <-chan time.Time
	if !hasBegun {
		now = nil
		remove, stop = alarm(f.nextRemoval())
		defer stop()
		beat, stop = alarm(f.announcer.alarm()) // a heartbeat must not end a batch early
		defer stop()
	}
	select {
	case <-ctx.Done():
		return false, ctx.Err()
	case <-f.outbox.wake:
	case <-due:
	case <-remove:
		f.removeDue(ctx)
	case done := <-f.keyChanges:
		f.beginKeyChange(ctx, done)
		return true, nil
	case <-retry:
		return true, nil
	case <-beat:
		return true, nil
	case <-linger:
		return true, nil
	case <-now:
		return true, nil
	}
	return false, nil
}

func alarm(at time.Time) (due <-chan time.Time, stop func()) {
	if at.IsZero() {
		return nil, func() {}
	}
	timer := time.NewTimer(time.Until(at))
	return timer.C, func() { timer.Stop() }
}

func (f *forwarder) release(ctx context.Context, b *batch) {
	sent, next := f.suspended.settle(b, f.collector.lagging)
	f.backlog.cursor.Next = next
	err := f.seals.withRuns(func() error {
		return errors.Join(f.persist(sent), f.backlog.cursor.RetireRuns(f.opts.runsInMemory, f.seals.isDue))
	})
	if err != nil {
		// Nothing is lost, because after a restart the stream shows which events were sent.
		f.status.fail(err)
	}
	// Append due seals before release wakes a waiting Flush, so that Flush also waits for the
	// seals.
	if _, err := f.seals.appendDue(ctx, time.Now()); err != nil {
		f.status.fail(err)
	}
	f.outbox.release(ctx, f.backlog.cursor.Next, uint64(sent.records), sent.bytes)
	if err := f.compact(ctx); err != nil {
		f.status.fail(err)
	}
}

// The caller of persist must hold seals.mu.
func (f *forwarder) persist(sent share) error {
	o, c := f.outbox, f.backlog.cursor
	if err := errors.Join(o.ids.Save(sent.ids), c.Save()); err != nil {
		if !errors.Is(err, disk.ErrNoSpace) {
			return err
		}
		if err := o.reserve.Use(func() error { return errors.Join(o.ids.Save(nil), c.Rewrite()) }); err != nil {
			return err
		}
	}
	if !f.backlog.log.CanDrop(c.Next) {
		return nil
	}
	if err := errors.Join(c.Sync(), o.ids.Sync()); err != nil {
		return err
	}
	if err := f.backlog.log.Drop(c.Next); err != nil {
		return err
	}
	return o.reserve.Refill()
}

func (f *forwarder) disconnect() {
	f.sender.Close()
	f.link.Close()
	f.collector.close()
}

func (f *forwarder) close() error {
	f.disconnect()
	return f.backlog.cursor.Close()
}

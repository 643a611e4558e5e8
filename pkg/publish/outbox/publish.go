package outbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/cursor"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/disk"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/journal"
	"github.com/hooktrail/hooktrail/pkg/publish/transport"
)

// Publisher appends events to an outbox on disk and forwards them to the stream. It is safe for
// concurrent use.
type Publisher struct {
	opts   Options
	lock   *os.File
	outbox *outbox
	intake *intake
	fwd    *forwarder

	cancel context.CancelFunc
	done   chan struct{} // closed when the forwarder has ended

	closing sync.Once
	closed  error
}

// Open opens or creates the outbox in opts.Dir and forwards its events to server. If another process
// has the outbox open, Open waits until ctx ends. server may be disconnected at first. Close the
// Publisher before the connection of server.
func Open(ctx context.Context, server transport.Server, opts Options) (*Publisher, error) {
	if err := opts.Validate(); err != nil {
		return nil, fmt.Errorf("open outbox: %w", err)
	}
	p, err := open(ctx, server, opts.withDefaults())
	if err != nil {
		return nil, fmt.Errorf("open outbox %s: %w", opts.Dir, err)
	}
	return p, nil
}

func open(ctx context.Context, server transport.Server, opts Options) (*Publisher, error) {
	if opts.Issuer != "" {
		var err error
		if opts.issuer, err = OpenIssuer(opts.Issuer); err != nil {
			return nil, err
		}
	}
	if err := os.MkdirAll(opts.Dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := lockFor(ctx, opts)
	if err != nil {
		return nil, err
	}
	box, cur, err := openBox(ctx, opts)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	if opts.Journal != "" {
		note(box, journal.File.Begin, journal.Open, lastUsed(box.numbers.next))
	}
	fwd, err := newForwarder(server, box, cur)
	if err != nil {
		return nil, errors.Join(err, box.close(ctx), box.shared.close(), lock.Close())
	}
	p := &Publisher{
		opts: opts, lock: lock, outbox: box, intake: &intake{outbox: box}, fwd: fwd, done: make(chan struct{}),
	}
	var run context.Context
	run, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(p.done)
		p.run(run)
	}()
	return p, nil
}

func lockFor(ctx context.Context, opts Options) (*os.File, error) {
	if opts.LockWait > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, opts.LockWait)
		defer cancel()
	}
	return disk.Lock(ctx, opts.lockFile())
}

func openBox(ctx context.Context, opts Options) (*outbox, *cursor.Cursor, error) {
	if opts.shared {
		return openShared(ctx, opts)
	}
	id, err := openIdentity(opts)
	if err != nil {
		return nil, nil, err
	}
	return openOutbox(opts, id)
}

func (p *Publisher) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	if p.opts.shared {
		wg.Go(func() { p.outbox.shared.watch(ctx) })
	}
	p.fwd.run(ctx)
	cancel()
	wg.Wait()
}

// Append redacts, numbers and stores an event, and returns the stored event. It never waits for the
// server. Append sets producer, sequence and salt, and also id, time and tenant if they are empty.
//
// If Append returns nil, the event will reach the stream once, after all earlier events of its
// tenant. [Options.Durability] limits what it survives. After an error the event is not stored,
// except perhaps after a failed sync with [DiskDurability]. With [ErrShed], the returned event has
// its lost number.
func (p *Publisher) Append(ctx context.Context, e events.Event) (events.Event, error) {
	return p.append(ctx, e, false)
}

// AppendChanged is like [Publisher.Append], but ignores [Options.Unique]. Use it for an event whose
// id was accepted with other content, so that the stream has both.
func (p *Publisher) AppendChanged(ctx context.Context, e events.Event) (events.Event, error) {
	return p.append(ctx, e, true)
}

func (p *Publisher) append(ctx context.Context, e events.Event, again bool) (events.Event, error) {
	batch, err := prepare(p.opts, p.outbox.producer(), &e)
	if err == nil {
		err = p.intake.append(ctx, batch, again)
	}
	switch {
	case errors.Is(err, ErrShed):
		return e, fmt.Errorf("append %s: %w", e.ID, err)
	case err != nil:
		return events.Event{}, fmt.Errorf("append %s: %w", e.ID, err)
	}
	return e, nil
}

// Flush waits until the stream has all earlier events, including the seals of finished runs.
// Without a stream, it returns [ErrNoStream]. If all waiting events are of one tenant and the user may
// not write one of them, it returns [ErrPermission].
func (p *Publisher) Flush(ctx context.Context) error {
	if err := p.flush(ctx); err != nil {
		return fmt.Errorf("flush: %d events wait: %w", p.outbox.stats().Pending, withCause(err, p.fwd.status.lastError()))
	}
	return nil
}

func withCause(err, cause error) error {
	if cause == nil || errors.Is(err, cause) {
		return err
	}
	return errors.Join(err, cause)
}

func (p *Publisher) flush(ctx context.Context) (err error) {
	waiting, stop := p.fwd.status.untilHopeless(ctx)
	defer stop()
	if err = p.flushUntil(waiting); err != nil && ctx.Err() == nil && waiting.Err() != nil {
		err = context.Cause(waiting)
	}
	return err
}

func (p *Publisher) flushUntil(ctx context.Context) error {
	if err := p.outbox.shared.takeIn(ctx); err != nil {
		return err
	}
	signal(p.fwd.now)
	if err := p.outbox.waitSent(ctx, allRecords, p.done); err != nil {
		return err
	}
	for {
		if err := p.fwd.seals.appendAll(ctx); err != nil {
			return err
		}
		signal(p.fwd.now)
		if err := p.outbox.waitSent(ctx, ownRecords, p.done); err != nil {
			return err
		}
		if !p.outbox.hasLosses() {
			return nil
		}
		if err := p.outbox.retryLosses(ctx); err != nil {
			return err
		}
	}
}

// Close waits like [Publisher.Flush] and closes the outbox. If events are still unsent, they stay
// in the outbox, and the error contains their number. After Close, Append returns [ErrClosed].
// Further calls of Close return the same error.
func (p *Publisher) Close(ctx context.Context) error {
	p.closing.Do(func() {
		p.intake.close()
		err := p.Flush(ctx)
		p.cancel()
		<-p.done
		if err == nil {
			p.fwd.announceEnd(ctx)
			err = p.fwd.removeSent(ctx)
		}
		if err == nil {
			noteEnd(ctx, p.outbox)
		}
		p.closed = errors.Join(err, p.fwd.close(), p.outbox.close(ctx), p.outbox.shared.close(), p.lock.Close())
	})
	return p.closed
}

// Stats counts events since Open. Pending and Bytes also include events that were already in the
// outbox.
type Stats struct {
	Producer  string
	Appended  uint64 // events, including seals and gap records
	Acked     uint64 // events that the stream acknowledged
	Pending   uint64 // unsent events
	Bytes     int64  // size of unsent events
	Shed      uint64 // events dropped because the outbox was full
	Refused   uint64 // events lost because the stream refuses them
	Damaged   uint64 // damaged records that Open found
	Foreign   uint64 // ignored manifests of other writers
	Suspended int    // suspended tenants
	LastError error  // cause of a pause or of a suspended tenant, or nil
	Full      error  // why the outbox has no room for the last refused event, or nil if it has
	LastAck   time.Time
}

// Stats returns the current counts.
func (p *Publisher) Stats() Stats {
	s := p.outbox.stats()
	p.fwd.status.addTo(&s)
	return s
}

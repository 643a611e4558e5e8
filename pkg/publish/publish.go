package publish

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Publisher takes events into an outbox on disk and forwards them to the
// stream. Its methods are safe for concurrent use.
type Publisher struct {
	opts   Options
	lock   *os.File
	outbox *outbox
	fwd    *forwarder

	cancel context.CancelFunc
	done   chan struct{} // closed when the forwarder has ended

	closing sync.Once
	closed  error
}

// Open opens the outbox in opts.Dir, making it when there is none, and begins
// to forward what waits in it over nc. The server need not be there yet: connect
// with [nats.RetryOnFailedConnect]. Open waits until ctx ends for another
// process that has the outbox open.
//
// The caller closes the Publisher first and nc, which stays the caller's, after
// it.
func Open(ctx context.Context, nc *nats.Conn, opts Options) (*Publisher, error) {
	if err := opts.Validate(); err != nil {
		return nil, fmt.Errorf("open outbox: %w", err)
	}
	p, err := open(ctx, nc, opts.withDefaults())
	if err != nil {
		return nil, fmt.Errorf("open outbox %s: %w", opts.Dir, err)
	}
	return p, nil
}

func open(ctx context.Context, nc *nats.Conn, opts Options) (*Publisher, error) {
	if err := os.MkdirAll(opts.Dir, 0o700); err != nil {
		return nil, err
	}
	lock, err := lockDir(ctx, opts.Dir, opts.lockName())
	if err != nil {
		return nil, err
	}
	box, cur, err := openBox(ctx, opts)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	fwd, err := newForwarder(nc, box, cur)
	if err != nil {
		return nil, errors.Join(err, box.close(ctx), box.shared.close(), lock.Close())
	}
	p := &Publisher{opts: opts, lock: lock, outbox: box, fwd: fwd, done: make(chan struct{})}
	// The forwarder works until Close, not until Open's context ends.
	var run context.Context
	run, p.cancel = context.WithCancel(context.WithoutCancel(ctx))
	go func() {
		defer close(p.done)
		p.run(run)
	}()
	return p, nil
}

// openBox opens the outbox whose lock is held.
func openBox(ctx context.Context, opts Options) (*outbox, *cursor, error) {
	if opts.shared {
		return openShared(ctx, opts)
	}
	id, err := openIdentity(opts)
	if err != nil {
		return nil, nil, err
	}
	return openOutbox(opts, id)
}

// run forwards until ctx ends, and looks for what other processes append.
func (p *Publisher) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	if p.opts.shared {
		wg.Go(func() { p.outbox.watch(ctx) })
	}
	p.fwd.run(ctx)
	cancel()
	wg.Wait()
}

// Append redacts, numbers and stores e, and returns it as it was stored. It
// never waits for the server. It keeps id, source and time of e where they are
// set, and sets producer, sequence and salt; see [Options] for the tenant.
//
// When it returns nil the event will reach the stream, once, behind all events
// that were appended before, if what [Options.Durability] says holds. After an
// error it was not stored; only an error of [DiskDurability]'s sync leaves that
// open. An event that is too large for the wire is stored as blob.chunk events
// and an event that names them.
func (p *Publisher) Append(ctx context.Context, e events.Event) (events.Event, error) {
	batch, err := prepare(p.opts, p.outbox.producer(), &e)
	if err == nil {
		err = p.outbox.append(ctx, batch)
	}
	switch {
	case errors.Is(err, ErrShed):
		return e, fmt.Errorf("append %s: %w", e.ID, err)
	case err != nil:
		return events.Event{}, fmt.Errorf("append %s: %w", e.ID, err)
	}
	return e, nil
}

// Flush returns when all events that were appended before are acknowledged by
// the stream, and so are the seals of their finished runs and the records of
// losses.
func (p *Publisher) Flush(ctx context.Context) error {
	if err := p.flush(ctx); err != nil {
		return fmt.Errorf("flush: %d events wait: %w", p.outbox.stats().Pending, errors.Join(err, p.fwd.lastError()))
	}
	return nil
}

func (p *Publisher) flush(ctx context.Context) error {
	if err := p.outbox.notice(ctx); err != nil {
		return err
	}
	p.fwd.hurry()
	if err := p.outbox.flushed(ctx, false, p.done); err != nil {
		return err
	}
	for {
		if err := p.fwd.sealAll(ctx); err != nil {
			return err
		}
		p.fwd.hurry()
		if err := p.outbox.flushed(ctx, true, p.done); err != nil {
			return err
		}
		if !p.outbox.owes() {
			return nil
		}
		if err := p.outbox.tryAgain(ctx); err != nil {
			return err
		}
	}
}

// Close ends Append and flushes until ctx ends. What could not be forwarded
// stays in the outbox for the next Open; the error says how much that is.
// Closing again returns the same.
func (p *Publisher) Close(ctx context.Context) error {
	p.closing.Do(func() {
		p.outbox.shut()
		err := p.Flush(ctx)
		p.cancel()
		<-p.done
		if err == nil {
			err = p.fwd.wipe(ctx)
		}
		p.closed = errors.Join(err, p.fwd.close(), p.outbox.close(ctx), p.outbox.shared.close(), p.lock.Close())
	})
	return p.closed
}

// Stats are counts since Open, but for Pending.
type Stats struct {
	Producer  string // id that events are numbered under
	Appended  uint64 // events taken, those of the outbox's own among them
	Acked     uint64 // events that the stream acknowledged
	Pending   uint64 // events that wait
	Bytes     int64  // size of what waits
	Shed      uint64 // events lost because the outbox was full
	Refused   uint64 // events lost because the stream refuses them
	Damaged   uint64 // records that Open found damaged
	Held      int    // tenants that are set aside because the stream does not take their events
	LastError error  // why forwarding waits; nil when it does not
	LastAck   time.Time
}

// Stats returns the counts of now.
func (p *Publisher) Stats() Stats {
	s := p.outbox.stats()
	p.fwd.addStats(&s)
	return s
}

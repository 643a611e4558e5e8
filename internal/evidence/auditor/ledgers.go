package auditor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
)

// ledgers writes to the ledgers of all tenants. A batch, a renewal and the start of a
// scrub exclude each other.
type ledgers struct {
	opts     Options
	state    *state
	scrubs   *scrubQueue
	appended func(tenant string) // called after each commit to a ledger

	workers     sync.WaitGroup  // goroutines that write to one ledger
	workersCtx  context.Context //nolint:containedctx // outlives a batch; ends with close
	stopWorkers context.CancelFunc

	// mu guards set, backlogs and suspended. A batch holds it from begin to end. It is
	// the first lock in the lock order.
	mu        sync.Mutex
	set       *writer.Set
	backlogs  map[string]*backlog // by tenant, ledgers that have a goroutine
	suspended map[string]error    // by tenant, damaged ledgers
}

func openLedgers(ctx context.Context, o Options, s *state, key *writer.Key) *ledgers {
	l := &ledgers{
		opts: o, state: s, scrubs: new(scrubQueue), appended: func(string) {},
		backlogs: make(map[string]*backlog), suspended: make(map[string]error),
		set: writer.OpenSet(LedgerDir(o.DataDir), writer.Options{Key: key, Now: o.Now, CacheBytes: o.CacheBytes}),
	}
	l.workersCtx, l.stopWorkers = context.WithCancel(context.WithoutCancel(ctx))
	return l
}

// suspend stops writing to a damaged ledger until the next start. The other tenants go
// on. The state database counts the skipped messages as written, so that the next
// start finds the ledger behind and reads the stream again. The ledger stays suspended
// even if it is restored meanwhile, because messages would be missing. l.mu is held.
func (l *ledgers) suspend(ctx context.Context, tenant string, err error) {
	if l.suspended[tenant] != nil {
		return
	}
	l.suspended[tenant] = fmt.Errorf("ledger of tenant %q is suspended: %w (auditor verify --tenant %q shows the damage; "+
		"restore the ledger while the stream still has its messages, then restart the auditor)", tenant, err, tenant)
	l.opts.Logger.ErrorContext(ctx, "damaged ledger suspended", "tenant", tenant, "error", err)
}

// failure returns why ledgers are suspended, or nil.
func (l *ledgers) failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs error
	for _, tenant := range slices.Sorted(maps.Keys(l.suspended)) {
		errs = errors.Join(errs, l.suspended[tenant])
	}
	return errs
}

// slowWrites returns which ledgers have been written to for long, and why, or nil.
func (l *ledgers) slowWrites() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs error
	for _, tenant := range slices.Sorted(maps.Keys(l.backlogs)) {
		errs = errors.Join(errs, l.backlogs[tenant].slow())
	}
	return errs
}

// tenants lists the tenants that have ledgers, of those in the options. It logs the
// ledgers whose tenant ids are too long to be read from the names of their folders.
func (l *ledgers) tenants(ctx context.Context) []string {
	tenants, err := l.opts.tenants()
	if err != nil {
		l.opts.Logger.ErrorContext(ctx, "ledgers not listed", "error", err)
	}
	return tenants
}

// newBacklog returns a backlog for l, with the first messages of its queue.
func (l *ledgers) newBacklog(of *writer.Ledger, first ...queued) *backlog {
	b := &backlog{ledger: of, append: l.append, since: time.Now(), done: make(chan struct{}), queue: first}
	for _, q := range first {
		b.bytes += q.bytes
	}
	return b
}

// queuedBytes returns the size of all backlogs. l.mu is held.
func (l *ledgers) queuedBytes() (bytes int) {
	for _, b := range l.backlogs {
		bytes += b.size()
	}
	return bytes
}

// detach takes the ledger of a tenant out of the set, to be scrubbed, and gives it a
// backlog. It returns nil if the ledger is suspended.
func (l *ledgers) detach(ctx context.Context, tenant string) (*backlog, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.attachDone(ctx); err != nil {
		return nil, err
	}
	if l.backlogs[tenant] != nil {
		return nil, errDetached
	}
	// Whoever restores a suspended ledger decides about its files.
	if l.suspended[tenant] != nil {
		l.scrubs.done(tenant)
		return nil, nil //nolint:nilnil // nothing to scrub
	}
	lent, err := l.set.Lend(ctx, tenant)
	if errors.Is(err, ledger.ErrDamaged) {
		l.suspend(ctx, tenant, err)
		l.scrubs.done(tenant)
		return nil, nil //nolint:nilnil // nothing to scrub
	}
	if err != nil {
		return nil, err
	}
	b := l.newBacklog(lent)
	b.scrub = true
	l.backlogs[tenant] = b
	return b, nil
}

// attach puts the ledgers whose goroutines have stopped back into the set. After an
// error, call it again.
func (l *ledgers) attach(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.attachDone(ctx)
}

// attachDone is attach for a caller that holds l.mu.
func (l *ledgers) attachDone(ctx context.Context) error {
	var errs error
	for _, b := range l.backlogs {
		if b.isDone() {
			errs = errors.Join(errs, l.attachOne(ctx, b))
		}
	}
	return errs
}

// attachOne writes the rest of a backlog and puts its ledger back into the set. l.mu is
// held and b.done is closed.
func (l *ledgers) attachOne(ctx context.Context, b *backlog) error {
	tenant := b.ledger.Tenant()
	err := b.flush(ctx)
	if errors.Is(err, ledger.ErrDamaged) {
		l.suspend(ctx, tenant, err)
	} else if err != nil {
		return err
	}
	if l.suspended[tenant] == nil {
		if err := l.state.setPosition(ctx, positionOf(b.ledger)); err != nil {
			return err
		}
	}
	switch {
	case b.ledger.Unclean():
		l.scrubs.add(tenant, b.scrubErr)
	case b.scrub:
		l.scrubs.done(tenant)
	}
	l.set.TakeBack(b.ledger)
	delete(l.backlogs, tenant)
	l.appended(tenant)
	return nil
}

// await waits for the goroutine of b and puts the ledger back. l.mu is held.
func (l *ledgers) await(ctx context.Context, b *backlog) error {
	select {
	case <-b.done:
		return l.attachOne(ctx, b)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// awaitAll waits until no ledger has a backlog. l.mu is held.
func (l *ledgers) awaitAll(ctx context.Context) error {
	for _, b := range l.backlogs {
		if err := l.await(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// finish waits for all backlogs before the auditor ends. It does not hold l.mu while
// it waits, so that readiness can report slow ledgers.
func (l *ledgers) finish(ctx context.Context) error {
	l.mu.Lock()
	rest := slices.Collect(maps.Values(l.backlogs))
	l.mu.Unlock()
	for _, b := range rest {
		select {
		case <-b.done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return l.attach(ctx)
}

// append writes messages to one ledger, with a commit for each signEvents of them.
func (l *ledgers) append(ctx context.Context, to *writer.Ledger, q queued) error {
	for part := range slices.Chunk(q.messages, signEvents) {
		done, err := to.Append(ctx, q.stream, part)
		if err != nil {
			return err
		}
		l.logAppended(ctx, to.Tenant(), done)
	}
	return nil
}

func (l *ledgers) logAppended(ctx context.Context, tenant string, done writer.Appended) {
	for _, f := range done.Found {
		l.opts.Logger.WarnContext(ctx, "record quarantined", "tenant", tenant, "finding", string(f.Finding),
			"leaf", f.Leaf, "producer", f.Producer, "stream_sequence", f.StreamSequence)
	}
	for _, o := range done.Orders {
		l.opts.Logger.InfoContext(ctx, "order received", "tenant", tenant, "order", o.Order.ID, "action", string(o.Order.Action),
			"effect", string(o.Effect), "removed", o.Removed, "leaf", o.Leaf)
		if o.Removed > 0 {
			l.scrubs.add(tenant, nil)
		}
	}
	l.opts.Logger.DebugContext(ctx, "ledger appended", "tenant", tenant,
		"leaves", done.Leaves, "seen_again", done.Again, "copies", done.Copies)
}

// close stops the goroutines and closes all ledgers. It returns an error if messages
// are left in a backlog.
func (l *ledgers) close() error {
	l.stopWorkers()
	l.workers.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs error
	for _, tenant := range slices.Sorted(maps.Keys(l.backlogs)) {
		b := l.backlogs[tenant]
		errs = errors.Join(errs, b.ledger.Close())
		if len(b.queue) > 0 {
			errs = errors.Join(errs, fmt.Errorf("ledger of tenant %q lacks queued messages: the next start reads them again", tenant))
		}
	}
	clear(l.backlogs)
	return errors.Join(errs, l.set.Close())
}

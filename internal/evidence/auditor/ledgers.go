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

// ledgers.mu is held during each batch, each renewal and each start of a scrub.
type ledgers struct {
	opts     Options
	state    *state
	scrubs   *scrubQueue
	appended func(tenant string) // called after each commit to a ledger

	workers     sync.WaitGroup  // goroutines that write to one ledger
	workersCtx  context.Context //nolint:containedctx // outlives a batch; ends with close
	stopWorkers context.CancelFunc

	// mu guards all fields below.
	mu        sync.Mutex
	set       *writer.Set
	admitted  *admissions
	backlogs  map[string]*backlog  // by tenant
	suspended map[string]error     // by tenant
	awaited   map[string]time.Time // next renewal of the checkpoint, by tenant
}

func openLedgers(ctx context.Context, o Options, s *state, key *writer.Key, a *admissions) *ledgers {
	l := &ledgers{
		opts: o, state: s, admitted: a, scrubs: new(scrubQueue), appended: func(string) {},
		backlogs: make(map[string]*backlog), suspended: make(map[string]error), awaited: make(map[string]time.Time),
		set: writer.OpenSet(LedgerDir(o.DataDir), writer.Options{Key: key, Now: o.Now, CacheBytes: o.CacheBytes}),
	}
	l.workersCtx, l.stopWorkers = context.WithCancel(context.WithoutCancel(ctx))
	return l
}

// The caller of suspend must hold l.mu.
func (l *ledgers) suspend(ctx context.Context, tenant string, err error) {
	if l.suspended[tenant] != nil {
		return
	}
	l.suspended[tenant] = fmt.Errorf("ledger of tenant %q is suspended: %w (auditor verify --tenant %q shows the damage; "+
		"restore the ledger while the stream still has its messages, then restart the auditor)", tenant, err, tenant)
	l.opts.Logger.ErrorContext(ctx, "damaged ledger suspended", "tenant", tenant, "error", err)
}

func (l *ledgers) failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs error
	for _, tenant := range slices.Sorted(maps.Keys(l.suspended)) {
		errs = errors.Join(errs, l.suspended[tenant])
	}
	return errs
}

func (l *ledgers) slowWrites() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var errs error
	for _, tenant := range slices.Sorted(maps.Keys(l.backlogs)) {
		errs = errors.Join(errs, l.backlogs[tenant].slow())
	}
	return errs
}

func (l *ledgers) tenants(ctx context.Context) []string {
	tenants, err := l.opts.tenants()
	if err != nil {
		l.opts.Logger.ErrorContext(ctx, "ledgers not listed", "error", err)
	}
	return tenants
}

func (l *ledgers) newBacklog(of *writer.Ledger, first ...queued) *backlog {
	b := &backlog{ledger: of, append: l.append, since: time.Now(), done: make(chan struct{}), queue: first}
	for _, q := range first {
		b.bytes += q.bytes
	}
	return b
}

func (l *ledgers) queuedMessages() (n uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range l.backlogs {
		n += b.messages()
	}
	return n
}

// The caller of queuedBytes must hold l.mu.
func (l *ledgers) queuedBytes() (bytes int) {
	for _, b := range l.backlogs {
		bytes += b.size()
	}
	return bytes
}

func (l *ledgers) detach(ctx context.Context, tenant string) (*backlog, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.attachDone(ctx); err != nil {
		return nil, err
	}
	if l.backlogs[tenant] != nil {
		return nil, errDetached
	}
	if l.suspended[tenant] != nil {
		l.scrubs.done(tenant)
		return nil, nil //nolint:nilnil // nothing to scrub
	}
	acquired, err := l.set.Acquire(ctx, tenant)
	if errors.Is(err, ledger.ErrDamaged) {
		l.suspend(ctx, tenant, err)
		l.scrubs.done(tenant)
		return nil, nil //nolint:nilnil // nothing to scrub
	}
	if err != nil {
		return nil, err
	}
	b := l.newBacklog(acquired)
	b.scrub = true
	l.backlogs[tenant] = b
	return b, nil
}

func (l *ledgers) attach(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.attachDone(ctx)
}

// The caller of attachDone must hold l.mu.
func (l *ledgers) attachDone(ctx context.Context) error {
	var errs error
	for _, b := range l.backlogs {
		if b.isDone() {
			errs = errors.Join(errs, l.attachOne(ctx, b))
		}
	}
	return errs
}

// The caller of attachOne must hold l.mu. The goroutine of b must have ended.
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
	l.set.Release(b.ledger)
	delete(l.backlogs, tenant)
	l.appended(tenant)
	return nil
}

// The caller of await must hold l.mu.
func (l *ledgers) await(ctx context.Context, b *backlog) error {
	select {
	case <-b.done:
		return l.attachOne(ctx, b)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// The caller of awaitAll must hold l.mu.
func (l *ledgers) awaitAll(ctx context.Context) error {
	for _, b := range l.backlogs {
		if err := l.await(ctx, b); err != nil {
			return err
		}
	}
	return nil
}

// finish waits for the backlogs without holding l.mu, so that readiness checks are not blocked.
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
		l.opts.Logger.WarnContext(ctx, "record set apart", "tenant", tenant, "class", string(f.Class), "finding", string(f.Finding),
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
		"leaves", done.Leaves, "seen_again", done.Repetitions, "copies", done.Copies)
}

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

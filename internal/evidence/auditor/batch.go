package auditor

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/stream/consume"
)

// A batch holds ledgers.mu from begin to end.
type batch struct {
	ledgers *ledgers

	// noteMu guards reached, ledgers.backlogs and ledgers.suspended during parallel writes.
	noteMu  sync.Mutex
	reached map[string]ledgerPosition // new positions by tenant
}

func (l *ledgers) begin() *batch {
	l.mu.Lock()
	return &batch{ledgers: l, reached: make(map[string]ledgerPosition)}
}

func (b *batch) end() { b.ledgers.mu.Unlock() }

func (b *batch) write(ctx context.Context, stream ledger.Stream, messages []consume.Message) error {
	byTenant := make(map[string][]ledger.Message)
	for _, m := range messages {
		// A message on an unknown subject goes to the ledger of the empty tenant, in quarantine.
		t := m.Address.Tenant
		if !b.ledgers.admitted.allows(ctx, b.ledgers, t, m.Sequence) {
			continue
		}
		byTenant[t] = append(byTenant[t], ledger.Message{
			Sequence: m.Sequence, Address: m.Address, Data: m.Data, Stored: m.Stored,
		})
	}
	if err := b.postpone(ctx, stream, byTenant); err != nil {
		return err
	}
	left := &budget{ledgers: maxBacklogs - len(b.ledgers.backlogs), bytes: maxBacklogBytes - b.ledgers.queuedBytes()}
	return b.each(ctx, slices.Sorted(maps.Keys(byTenant)), func(tenant string, l *writer.Ledger) (ledgerPosition, *backlog, error) {
		q := newQueued(stream, byTenant[tenant])
		if l == nil {
			return q.target(tenant), nil, nil
		}
		return b.writeOne(ctx, l, q, left)
	})
}

func (b *batch) postpone(ctx context.Context, stream ledger.Stream, byTenant map[string][]ledger.Message) error {
	if err := b.ledgers.attachDone(ctx); err != nil {
		return err
	}
	for tenant, waiting := range b.ledgers.backlogs {
		messages := byTenant[tenant]
		if len(messages) == 0 {
			continue
		}
		q := newQueued(stream, messages)
		if b.ledgers.queuedBytes()+q.bytes > maxBacklogBytes || !waiting.add(q) {
			if err := b.ledgers.await(ctx, waiting); err != nil {
				return err
			}
			continue
		}
		b.reached[tenant] = q.target(tenant)
		delete(byTenant, tenant)
	}
	return nil
}

func (b *batch) writeOne(ctx context.Context, l *writer.Ledger, q queued, left *budget) (ledgerPosition, *backlog, error) {
	own, result := b.ledgers.newBacklog(l, q), make(chan error, 1)
	b.ledgers.workers.Go(func() { result <- own.run(b.ledgers.workersCtx) })
	tooLong := b.ledgers.opts.tooLong()
	for {
		select {
		case err := <-result:
			if err != nil {
				return ledgerPosition{}, nil, err
			}
			return positionOf(l), nil, nil
		case <-ctx.Done():
			return ledgerPosition{}, own, ctx.Err()
		case <-tooLong:
			if left.take(q.bytes) {
				return q.target(l.Tenant()), own, nil
			}
			tooLong = nil
		}
	}
}

// For a damaged ledger, each calls fn with a nil ledger, so that one tenant cannot fail the whole
// batch.
func (b *batch) each(
	ctx context.Context, tenants []string, fn func(string, *writer.Ledger) (ledgerPosition, *backlog, error),
) error {
	var errs error
	note := func(tenant string, l *writer.Ledger, err error) (retained bool) {
		var at ledgerPosition
		var started *backlog
		if err == nil {
			at, started, err = fn(tenant, l)
		}
		b.noteMu.Lock()
		defer b.noteMu.Unlock()
		if errors.Is(err, ledger.ErrDamaged) {
			b.ledgers.suspend(ctx, tenant, err)
			at, started, err = fn(tenant, nil)
		}
		if started != nil {
			b.ledgers.backlogs[tenant] = started
		}
		if err != nil {
			errs = errors.Join(errs, err)
		} else if at != (ledgerPosition{}) {
			b.reached[tenant] = at
		}
		return started != nil
	}
	sound := slices.DeleteFunc(slices.Clone(tenants), func(t string) bool { return b.ledgers.suspended[t] != nil })
	for _, tenant := range tenants {
		if b.ledgers.suspended[tenant] != nil {
			note(tenant, nil, nil)
		}
	}
	b.ledgers.set.Each(ctx, sound, note)
	return errs
}

func (b *batch) commit(ctx context.Context, stream ledger.Stream, next consume.Position) error {
	rows := make([]ledgerRow, 0, len(b.reached))
	for tenant, at := range b.reached {
		rows = append(rows, ledgerRow{ledgerPosition: at, suspended: b.ledgers.suspended[tenant] != nil})
	}
	if err := b.ledgers.admitted.save(); err != nil {
		return err
	}
	if err := b.ledgers.state.commit(ctx, stream, next, rows); err != nil {
		return err
	}
	if err := b.ledgers.admitted.committed(); err != nil {
		return err
	}
	for tenant := range b.reached {
		b.ledgers.appended(tenant)
		delete(b.ledgers.awaited, tenant)
	}
	return nil
}

type budget struct {
	mu             sync.Mutex
	ledgers, bytes int
}

func (r *budget) take(bytes int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ledgers == 0 || r.bytes < bytes {
		return false
	}
	r.ledgers, r.bytes = r.ledgers-1, r.bytes-bytes
	return true
}

package auditor

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/stream/consume"
)

// Apply implements [consume.Projection]. The ledgers of a batch are written beside
// each other: none waits until those of all other tenants are on disk.
func (p *projected) Apply(ctx context.Context, batch []consume.Message, next consume.Position) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	reached := make(map[string]known)
	stream, err := p.enter(ctx, batch, next, reached)
	if err != nil {
		return err
	}
	if err := p.appendAround(ctx, stream, batch, p.holesBefore(next), reached); err != nil {
		return err
	}
	if err := p.commit(ctx, stream, next, slices.Collect(maps.Values(reached))); err != nil {
		return err
	}
	p.stream, p.changed, p.started = stream, false, true
	p.passed(next)
	for tenant := range reached {
		p.appended(tenant)
	}
	return nil
}

// enter returns the stream that next is a position of: where it is another one
// than before, every ledger says so first.
func (p *projected) enter(
	ctx context.Context, batch []consume.Message, next consume.Position, reached map[string]known,
) (ledger.Stream, error) {
	stream := p.stream
	if stream.Epoch > 0 && !p.changed && (next.Stream.IsZero() || stream.Created.Equal(next.Stream)) {
		return stream, nil
	}
	stream = ledger.Stream{Epoch: stream.Epoch + 1, Created: next.Stream}
	if p.stream.Epoch == 0 {
		return stream, nil
	}
	at := ledger.Position{Epoch: stream.Epoch, Stream: stream.Created}
	if len(batch) == 0 { // behind what is in common
		at.Sequence, at.Hash = next.Sequence, next.Hash
	}
	return stream, p.breakAll(ctx, at, reached)
}

// appendAround applies messages, and has every ledger say where a hole is between
// them. Of many holes it says the first and the last: each time costs every ledger
// a commit, and behind the last one each producer has to be heard of again.
func (p *projected) appendAround(
	ctx context.Context, stream ledger.Stream, batch []consume.Message, holes []consume.Hole, reached map[string]known,
) error {
	if len(holes) > 2 {
		holes = []consume.Hole{holes[0], holes[len(holes)-1]}
	}
	for _, h := range holes {
		i, _ := slices.BinarySearchFunc(batch, h.First, func(m consume.Message, first uint64) int {
			return cmp.Compare(m.Sequence, first)
		})
		if err := p.appendAll(ctx, stream, batch[:i], reached); err != nil {
			return err
		}
		at := ledger.Position{Epoch: stream.Epoch, Stream: stream.Created, Sequence: h.Last}
		if err := p.breakAll(ctx, at, reached); err != nil {
			return err
		}
		batch = batch[i:]
	}
	return p.appendAll(ctx, stream, batch, reached)
}

// appendAll applies messages, and notes in reached how far each tenant's ledger
// reaches then.
func (p *projected) appendAll(
	ctx context.Context, stream ledger.Stream, batch []consume.Message, reached map[string]known,
) error {
	byTenant := make(map[string][]ledger.Message)
	for _, m := range batch {
		// What lies on no subject of ours belongs to nobody: the tenant without a
		// name has it in quarantine.
		t := m.Address.Tenant
		byTenant[t] = append(byTenant[t], ledger.Message{
			Sequence: m.Sequence, Address: m.Address, Data: m.Data, Stored: m.Stored,
		})
	}
	if err := p.putOff(ctx, stream, byTenant, reached); err != nil {
		return err
	}
	left := &room{ledgers: mostAside - len(p.asides), bytes: maxAside - p.waiting()}
	return p.each(ctx, slices.Sorted(maps.Keys(byTenant)), reached, func(tenant string, l *writer.Ledger) (known, *aside, error) {
		what := newLate(stream, byTenant[tenant])
		if l == nil {
			return due(tenant, what), nil, nil
		}
		return p.write(ctx, l, what, left)
	})
}

func knownOf(l *writer.Ledger) known {
	at := l.Newest().Position
	return known{tenant: l.Tenant(), epoch: at.Epoch, sequence: at.Sequence}
}

// each calls fn with the ledger of each of tenants, several at a time, and with
// nil for one that is held back, as a ledger is from then on of which fn says
// that it is damaged. What fn returns is noted in reached, and in p.asides which
// ledgers it has set aside.
func (p *projected) each(
	ctx context.Context, tenants []string, reached map[string]known, fn func(string, *writer.Ledger) (known, *aside, error),
) error {
	var mu sync.Mutex // guards errs, reached, p.held and p.asides while the calls run
	var errs error
	note := func(tenant string, l *writer.Ledger, err error) bool {
		var at known
		var kept *aside
		if err == nil {
			at, kept, err = fn(tenant, l)
		}
		mu.Lock()
		defer mu.Unlock()
		if errors.Is(err, ledger.ErrDamaged) {
			p.hold(ctx, tenant, err)
			at, kept, err = fn(tenant, nil)
		}
		if kept != nil {
			p.asides[tenant] = kept
		}
		if err != nil {
			errs = errors.Join(errs, err)
		} else if at != (known{}) {
			reached[tenant] = at
		}
		return kept != nil
	}
	sound := slices.DeleteFunc(slices.Clone(tenants), func(t string) bool { return p.held[t] != nil })
	for _, tenant := range tenants {
		if p.held[tenant] != nil {
			note(tenant, nil, nil)
		}
	}
	p.set.Each(ctx, sound, note)
	return errs
}

// commit stores the position, now that all ledgers have the batch.
func (p *projected) commit(ctx context.Context, stream ledger.Stream, next consume.Position, reached []known) error {
	now := p.opts.Now().UnixNano()
	return p.db.Commit(ctx, next, nil, func(conn *sqlite.Conn) error {
		err := sqlitex.Execute(conn, "INSERT OR REPLACE INTO stream (id, epoch, created) VALUES (1, ?, ?)",
			&sqlitex.ExecOptions{Args: []any{int64(stream.Epoch), stream.Created.UnixNano()}})
		if err == nil {
			err = rememberPassed(conn, next)
		}
		for _, k := range reached {
			if err != nil {
				break
			}
			// What is read again must not lower what a ledger that is held back should have.
			err = sqlitex.Execute(conn, `INSERT INTO ledger (tenant, epoch, sequence, appended, renewed) VALUES (?1, ?2, ?3, ?4, 0)
				ON CONFLICT DO UPDATE SET epoch = excluded.epoch, appended = excluded.appended, sequence =
					iif(?5 AND epoch = excluded.epoch, max(sequence, excluded.sequence), excluded.sequence)`,
				&sqlitex.ExecOptions{Args: []any{k.tenant, int64(k.epoch), int64(k.sequence), now, p.held[k.tenant] != nil}})
		}
		return err
	})
}

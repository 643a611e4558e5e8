package auditor

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// ErrStreamBroken is wrapped by what Progress says after the stream did not go on as it
// was, until the auditor is started again. The ledgers say it for good.
var ErrStreamBroken = errors.New("the stream did not go on where it was read last")

// streamChanged implements consume.Options.OnStreamChanged: evidence of the new
// stream goes on behind that of the old one, and each ledger says so.
func (p *projected) streamChanged(reason string) error {
	p.opts.Logger.Error("the stream was replaced or rolled back: the ledgers go on from what it has in common with the one before",
		"reason", reason)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.changed, p.holes = true, nil
	p.broke = fmt.Errorf("%w: %s (auditor verify tells what is missing)", ErrStreamBroken, reason)
	return nil
}

// hole implements consume.Options.OnHole: messages that were read before are no
// loss to the ledgers.
func (p *projected) hole(h consume.Hole) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if h.First > p.at {
		p.holes = append(p.holes, h)
	}
}

// holesBefore returns the holes that a batch up to next passes, the first in
// front.
func (p *projected) holesBefore(next consume.Position) []consume.Hole {
	var passed []consume.Hole
	behind := p.at
	for _, h := range p.holes {
		if h.First > behind && h.Last <= next.Sequence {
			passed = append(passed, h)
			behind = h.Last
		}
	}
	return passed
}

// passed notes that next is committed.
func (p *projected) passed(next consume.Position) {
	p.at = next.Sequence
	rest := p.holes[:0]
	for _, h := range p.holes {
		if h.First > p.at {
			rest = append(rest, h)
		}
	}
	p.holes = rest
}

// breakAll has every ledger say that reading went on behind at.
func (p *projected) breakAll(ctx context.Context, at ledger.Position, reached map[string]known) error {
	if err := p.awaitAside(ctx); err != nil {
		return err
	}
	tenants, err := p.opts.tenants()
	if err != nil { // only of ids so long that the folder does not tell them
		p.opts.Logger.ErrorContext(ctx, "ledgers were not read", "error", err)
	}
	var signed atomic.Int64
	err = p.each(ctx, tenants, reached, func(tenant string, l *writer.Ledger) (known, *aside, error) {
		if l == nil {
			return known{}, nil, nil
		}
		before := l.Newest()
		if err := l.Break(ctx, at); err != nil || l.Newest().Number == before.Number {
			return known{}, nil, err
		}
		p.opts.Logger.ErrorContext(ctx, "messages may be missing: the stream did not go on where it was read last",
			"tenant", tenant, "read", before.Position.Sequence, "goes_on_behind", at.Sequence)
		signed.Add(1)
		return knownOf(l), nil, nil
	})
	if err == nil && signed.Load() > 0 && p.broke == nil {
		p.broke = fmt.Errorf("%w: messages up to %d were gone (auditor verify tells what is missing)", ErrStreamBroken, at.Sequence)
	}
	return err
}

// tenants lists the tenants that have ledgers, of those that o is about.
func (o Options) tenants() ([]string, error) {
	all, err := ledger.Tenants(LedgerDir(o.DataDir))
	if o.Tenant == "" {
		return all, err
	}
	for _, tenant := range all {
		if tenant == o.Tenant {
			return []string{tenant}, nil
		}
	}
	return nil, nil
}

// brokeOff returns that the stream broke off since the start, nil if it did not.
func (p *projected) brokeOff() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.broke
}

// keptPassed is how many of the latest positions are remembered one by one; of
// those before them every second, every fourth and so on.
const keptPassed = 16

// rememberPassed adds next to the positions that were passed, and forgets the one
// whose turn it is: about 16 are left for each doubling of their number.
func rememberPassed(conn *sqlite.Conn, next consume.Position) error {
	if next.Sequence == 0 || next.Hash == (events.Hash{}) {
		return nil
	}
	err := sqlitex.Execute(conn, "INSERT INTO passed (sequence, created, hash) VALUES (?, ?, ?)",
		&sqlitex.ExecOptions{Args: []any{int64(next.Sequence), next.Stream.UnixNano(), next.Hash[:]}})
	if err != nil {
		return fmt.Errorf("remember the position: %w", err)
	}
	number := conn.LastInsertRowID()
	return sqlitex.Execute(conn, "DELETE FROM passed WHERE number = ?",
		&sqlitex.ExecOptions{Args: []any{number - keptPassed*(number&-number)}})
}

// passedBefore implements consume.Options.Passed.
func (p *projected) passedBefore(ctx context.Context) (list []consume.Position, err error) {
	err = p.db.Tx(ctx, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(conn, "SELECT sequence, created, hash FROM passed ORDER BY number DESC", &sqlitex.ExecOptions{
			ResultFunc: func(stmt *sqlite.Stmt) error {
				at := consume.Position{Sequence: uint64(stmt.ColumnInt64(0)), Stream: time.Unix(0, stmt.ColumnInt64(1)).UTC()}
				stmt.ColumnBytes(2, at.Hash[:])
				list = append(list, at)
				return nil
			},
		})
	})
	return list, err
}

package auditor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/internal/stream/projection"
	"github.com/hooktrail/hooktrail/pkg/events"
)

var stateSchema = projection.Schema{Name: "auditor", Version: 2, Tables: stateTables}

// stateTables are what the auditor remembers besides its position. All of it can
// be read from the ledgers again; that it can be compared with them tells when a
// ledger was deleted or restored from an older copy.
const stateTables = `
CREATE TABLE stream (id INTEGER PRIMARY KEY CHECK (id = 1), epoch INTEGER NOT NULL, created INTEGER NOT NULL) STRICT;
CREATE TABLE ledger (
	tenant   TEXT PRIMARY KEY,
	epoch    INTEGER NOT NULL,
	sequence INTEGER NOT NULL, -- of the stream: the last that changed the ledger, or should have while it was held back
	appended INTEGER NOT NULL, -- when, Unix time in nanoseconds
	renewed  INTEGER NOT NULL  -- when its checkpoint was last renewed for its time alone
) STRICT, WITHOUT ROWID;
CREATE TABLE passed ( -- some of the positions that were passed
	number   INTEGER PRIMARY KEY AUTOINCREMENT,
	sequence INTEGER NOT NULL,
	created  INTEGER NOT NULL, -- the stream, Unix time in nanoseconds
	hash     BLOB NOT NULL     -- of the message
) STRICT;
`

// known is a row of the table ledger.
type known struct {
	tenant          string
	epoch, sequence uint64
}

// compare finds out where to begin: at the stored position, unless a ledger is
// behind what it has been, or should be, or the state is new beside older ledgers.
func (p *projected) compare(ctx context.Context) error {
	ledgers, err := p.load(ctx)
	if err != nil {
		return err
	}
	fresh := p.stream.Epoch == 0
	if fresh {
		p.stream = p.opts.stream
	}
	have, err := p.positions(ctx, ledgers)
	if err != nil {
		return err
	}
	p.latest(have, fresh)
	if fresh {
		// All is read from the start; what the ledgers have they skip.
		if len(have) > 0 {
			p.opts.Logger.InfoContext(ctx, "the auditor's position is gone: the stream is read from the start", "ledgers", len(have))
		}
		p.start = consume.Position{}
		return nil
	}
	for _, k := range ledgers {
		if at, ok := have[k.tenant]; ok {
			p.goBack(ctx, k, at)
		}
	}
	return nil
}

// latest takes the stream that the ledgers were fed from last. Where the state is
// fresh it notes the last message of that stream that a ledger is known to have.
func (p *projected) latest(have map[string]ledger.Position, fresh bool) {
	for _, at := range have {
		if at.Epoch > p.stream.Epoch { // the state was deleted, or another auditor has been here since
			p.stream = ledger.Stream{Epoch: at.Epoch, Created: at.Stream}
		}
	}
	for _, at := range have {
		if fresh && at.Epoch == p.stream.Epoch && at.Sequence > p.expected.Sequence && at.Hash != (events.Hash{}) {
			p.expected = consume.Position{Sequence: at.Sequence, Stream: at.Stream, Hash: at.Hash}
		}
	}
}

// goBack sees to it that what a ledger lacks is read again.
func (p *projected) goBack(ctx context.Context, k known, have ledger.Position) {
	if have.Epoch > k.epoch || have.Epoch == k.epoch && have.Sequence >= k.sequence {
		return
	}
	p.opts.Logger.WarnContext(ctx, "a ledger is not as far as it was or should be: it is read from the stream again",
		"tenant", k.tenant, "has", have.Sequence, "should_have", k.sequence)
	back := consume.Position{}
	if have.Epoch == p.stream.Epoch {
		back = consume.Position{Sequence: have.Sequence, Stream: have.Stream, Hash: have.Hash}
	}
	if back.Sequence < p.start.Sequence {
		p.start = back
	}
}

// positions returns where the ledgers are, the known ones and those that another
// auditor made; the zero Position where there is none any more. One that cannot
// be read is held back, and left out.
func (p *projected) positions(ctx context.Context, ledgers []known) (map[string]ledger.Position, error) {
	tenants, err := p.opts.tenants()
	if err != nil { // only of ids so long that the folder does not tell them
		p.opts.Logger.ErrorContext(ctx, "ledgers were not read", "error", err)
	}
	for _, k := range ledgers {
		tenants = append(tenants, k.tenant)
	}
	all := make(map[string]ledger.Position, len(tenants))
	for _, tenant := range tenants {
		if _, ok := all[tenant]; ok {
			continue
		}
		at, err := newest(ctx, p.opts, tenant)
		switch {
		case errors.Is(err, ledger.ErrDamaged):
			p.hold(ctx, tenant, err)
		case err != nil:
			return nil, err
		default:
			all[tenant] = at
		}
	}
	return all, nil
}

// load reads the stored state.
func (p *projected) load(ctx context.Context) (ledgers []known, err error) {
	err = p.db.Tx(ctx, func(conn *sqlite.Conn) error {
		p.start, err = projection.PositionOf(conn)
		if err != nil {
			return err
		}
		err := sqlitex.Execute(conn, "SELECT epoch, created FROM stream", &sqlitex.ExecOptions{
			ResultFunc: func(stmt *sqlite.Stmt) error {
				p.stream = ledger.Stream{Epoch: uint64(stmt.ColumnInt64(0)), Created: time.Unix(0, stmt.ColumnInt64(1)).UTC()}
				return nil
			},
		})
		if err != nil {
			return err
		}
		return sqlitex.Execute(conn, "SELECT tenant, epoch, sequence FROM ledger", &sqlitex.ExecOptions{
			ResultFunc: func(stmt *sqlite.Stmt) error {
				ledgers = append(ledgers, known{stmt.ColumnText(0), uint64(stmt.ColumnInt64(1)), uint64(stmt.ColumnInt64(2))})
				return nil
			},
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read the auditor's state: %w", err)
	}
	return ledgers, nil
}

// newest returns the position of a tenant's ledger, the zero one if there is
// no ledger.
func newest(ctx context.Context, o Options, tenant string) (ledger.Position, error) {
	r, err := ledger.OpenTenant(LedgerDir(o.DataDir), tenant)
	if errors.Is(err, os.ErrNotExist) {
		return ledger.Position{}, nil
	}
	if err != nil {
		return ledger.Position{}, err
	}
	c, err := r.Newest(ctx)
	return c.Position, errors.Join(err, r.Close())
}

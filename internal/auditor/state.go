package auditor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/consume"
	"github.com/hooktrail/hooktrail/internal/ledger"
	"github.com/hooktrail/hooktrail/internal/projection"
)

// stateVersion is that of stateSchema.
const stateVersion = 1

// stateSchema is what the auditor remembers besides its position. All of it can
// be read from the ledgers again; that it can be compared with them tells when a
// ledger was deleted or restored from an older copy.
const stateSchema = `
CREATE TABLE stream (id INTEGER PRIMARY KEY CHECK (id = 1), epoch INTEGER NOT NULL, created INTEGER NOT NULL) STRICT;
CREATE TABLE ledger (
	tenant   TEXT PRIMARY KEY,
	epoch    INTEGER NOT NULL,
	sequence INTEGER NOT NULL, -- of the stream: the last that changed the ledger
	appended INTEGER NOT NULL, -- when, Unix time in nanoseconds
	renewed  INTEGER NOT NULL  -- when its checkpoint was last renewed for its time alone
) STRICT, WITHOUT ROWID;
`

// known is a row of the table ledger.
type known struct {
	tenant          string
	epoch, sequence uint64
}

// compare finds out where to begin: at the stored position, unless a ledger is
// behind what it has been, or the state is new beside older ledgers.
func (p *projected) compare(ctx context.Context) error {
	ledgers, err := p.load(ctx)
	if err != nil {
		return err
	}
	if p.stream.Epoch == 0 {
		return p.adopt(ctx)
	}
	for _, k := range ledgers {
		have, err := newest(ctx, p.opts, k.tenant)
		if err != nil {
			return err
		}
		if have.Epoch > p.stream.Epoch { // another auditor has been here since
			p.stream = ledger.Stream{Epoch: have.Epoch, Created: have.Stream}
		}
		if have.Epoch > k.epoch || have.Epoch == k.epoch && have.Sequence >= k.sequence {
			continue
		}
		p.opts.Logger.WarnContext(ctx, "a ledger is older than it was: it is read from the stream again",
			"tenant", k.tenant, "has", have.Sequence, "had", k.sequence)
		back := consume.Position{}
		if have.Epoch == p.stream.Epoch {
			back = consume.Position{Sequence: have.Sequence, Stream: have.Stream, Hash: have.Hash}
		}
		if back.Sequence < p.start.Sequence {
			p.start = back
		}
	}
	return nil
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

// adopt takes the epoch from the ledgers that are there: the state was deleted,
// or there are none. All is read from the start; what they have they skip.
func (p *projected) adopt(ctx context.Context) error {
	tenants, err := ledger.Tenants(LedgerDir(p.opts.DataDir))
	if err != nil {
		return err
	}
	for _, tenant := range tenants {
		have, err := newest(ctx, p.opts, tenant)
		if err != nil {
			return err
		}
		if have.Epoch > p.stream.Epoch {
			p.stream = ledger.Stream{Epoch: have.Epoch, Created: have.Stream}
		}
	}
	if len(tenants) > 0 {
		p.opts.Logger.InfoContext(ctx, "the auditor's position is gone: the stream is read from the start", "ledgers", len(tenants))
	}
	p.start = consume.Position{}
	return nil
}

// newest returns the position of a tenant's ledger, the zero one if there is
// no ledger.
func newest(ctx context.Context, o Options, tenant string) (ledger.Position, error) {
	path, err := ledger.Path(LedgerDir(o.DataDir), tenant)
	if err != nil {
		return ledger.Position{}, err
	}
	r, err := ledger.OpenReader(path)
	if errors.Is(err, os.ErrNotExist) {
		return ledger.Position{}, nil
	}
	if err != nil {
		return ledger.Position{}, err
	}
	c, err := r.Newest(ctx)
	return c.Position, errors.Join(err, r.Close())
}

package auditor

import (
	"context"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/internal/stream/projection"
	"github.com/hooktrail/hooktrail/pkg/events"
)

var stateSchema = projection.Schema{Name: "auditor", Version: 2, Tables: stateTables}

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

type state struct {
	db  *projection.DB
	now func() time.Time
}

type ledgerPosition struct {
	tenant          string
	epoch, sequence uint64
}

func positionOf(l *writer.Ledger) ledgerPosition {
	at := l.Newest().Position
	return ledgerPosition{tenant: l.Tenant(), epoch: at.Epoch, sequence: at.Sequence}
}

type ledgerRow struct {
	ledgerPosition

	suspended bool
}

type saved struct {
	position consume.Position
	stream   ledger.Stream // zero in a new database
	ledgers  []ledgerPosition
}

func (s *state) load(ctx context.Context) (all saved, err error) {
	err = s.db.Tx(ctx, func(conn *sqlite.Conn) error {
		all.position, err = projection.PositionOf(conn)
		if err != nil {
			return err
		}
		err := sqlitex.Execute(conn, "SELECT epoch, created FROM stream", &sqlitex.ExecOptions{
			ResultFunc: func(stmt *sqlite.Stmt) error {
				all.stream = ledger.Stream{Epoch: uint64(stmt.ColumnInt64(0)), Created: time.Unix(0, stmt.ColumnInt64(1)).UTC()}
				return nil
			},
		})
		if err != nil {
			return err
		}
		return sqlitex.Execute(conn, "SELECT tenant, epoch, sequence FROM ledger", &sqlitex.ExecOptions{
			ResultFunc: func(stmt *sqlite.Stmt) error {
				all.ledgers = append(all.ledgers, ledgerPosition{stmt.ColumnText(0), uint64(stmt.ColumnInt64(1)), uint64(stmt.ColumnInt64(2))})
				return nil
			},
		})
	})
	if err != nil {
		return saved{}, fmt.Errorf("read the auditor's state: %w", err)
	}
	return all, nil
}

func (s *state) commit(ctx context.Context, stream ledger.Stream, next consume.Position, rows []ledgerRow) error {
	now := s.now().UnixNano()
	return s.db.Commit(ctx, next, nil, func(conn *sqlite.Conn) error {
		err := sqlitex.Execute(conn, "INSERT OR REPLACE INTO stream (id, epoch, created) VALUES (1, ?, ?)",
			&sqlitex.ExecOptions{Args: []any{int64(stream.Epoch), stream.Created.UnixNano()}})
		if err == nil {
			err = storePassed(conn, next)
		}
		for _, r := range rows {
			if err != nil {
				break
			}
			// A suspended ledger may receive old messages again. They must not lower its stored
			// position.
			err = sqlitex.Execute(conn, `INSERT INTO ledger (tenant, epoch, sequence, appended, renewed) VALUES (?1, ?2, ?3, ?4, 0)
				ON CONFLICT DO UPDATE SET epoch = excluded.epoch, appended = excluded.appended, sequence =
					iif(?5 AND epoch = excluded.epoch, max(sequence, excluded.sequence), excluded.sequence)`,
				&sqlitex.ExecOptions{Args: []any{r.tenant, int64(r.epoch), int64(r.sequence), now, r.suspended}})
		}
		return err
	})
}

func (s *state) setPosition(ctx context.Context, at ledgerPosition) error {
	return s.db.Tx(ctx, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(conn, "UPDATE ledger SET epoch = ?2, sequence = ?3 WHERE tenant = ?1",
			&sqlitex.ExecOptions{Args: []any{at.tenant, int64(at.epoch), int64(at.sequence)}})
	})
}

func (s *state) idle(ctx context.Context, before time.Time) (tenants []string, err error) {
	err = s.db.Tx(ctx, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(conn, "SELECT tenant FROM ledger WHERE appended < ? AND renewed < appended",
			&sqlitex.ExecOptions{
				Args: []any{before.UnixNano()},
				ResultFunc: func(stmt *sqlite.Stmt) error {
					tenants = append(tenants, stmt.ColumnText(0))
					return nil
				},
			})
	})
	return tenants, err
}

func (s *state) setRenewed(ctx context.Context, tenant string, at time.Time) error {
	return s.db.Tx(ctx, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(conn, "UPDATE ledger SET renewed = ? WHERE tenant = ?",
			&sqlitex.ExecOptions{Args: []any{at.UnixNano(), tenant}})
	})
}

const latestPassed = 16

func storePassed(conn *sqlite.Conn, next consume.Position) error {
	if next.Sequence == 0 || next.Hash == (events.Hash{}) {
		return nil
	}
	err := sqlitex.Execute(conn, "INSERT INTO passed (sequence, created, hash) VALUES (?, ?, ?)",
		&sqlitex.ExecOptions{Args: []any{int64(next.Sequence), next.Stream.UnixNano(), next.Hash[:]}})
	if err != nil {
		return fmt.Errorf("store the position: %w", err)
	}
	number := conn.LastInsertRowID()
	return sqlitex.Execute(conn, "DELETE FROM passed WHERE number = ?",
		&sqlitex.ExecOptions{Args: []any{number - latestPassed*(number&-number)}})
}

func (s *state) passed(ctx context.Context) (list []consume.Position, err error) {
	err = s.db.Tx(ctx, func(conn *sqlite.Conn) error {
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

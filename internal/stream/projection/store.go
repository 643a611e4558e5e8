package projection

import (
	"context"
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// PositionOf returns the position that a projection's database stores.
func PositionOf(conn *sqlite.Conn) (Position, error) {
	var p Position
	err := sqlitex.Execute(conn, "SELECT sequence, stream, hash FROM projection_position", &sqlitex.ExecOptions{
		ResultFunc: func(stmt *sqlite.Stmt) error {
			p.Sequence = uint64(stmt.ColumnInt64(0))
			if ns := stmt.ColumnInt64(1); ns != 0 {
				p.Stream = time.Unix(0, ns).UTC()
			}
			if n := stmt.ColumnBytes(2, p.Hash[:]); n != len(p.Hash) || stmt.ColumnLen(2) != n {
				return fmt.Errorf("hash has %d bytes, want %d", stmt.ColumnLen(2), len(events.Hash{}))
			}
			return nil
		},
	})
	if err != nil {
		return Position{}, fmt.Errorf("position: %w", err)
	}
	return p, nil
}

// SavePosition stores a position in the current transaction of conn.
func (db *DB) SavePosition(conn *sqlite.Conn, p Position) error {
	var ns int64
	if !p.Stream.IsZero() {
		ns = p.Stream.UnixNano()
	}
	err := sqlitex.Execute(conn,
		"INSERT OR REPLACE INTO projection_position (id, sequence, stream, hash) VALUES (1, ?, ?, ?)",
		&sqlitex.ExecOptions{Args: []any{int64(p.Sequence), ns, p.Hash[:]}})
	if err != nil {
		return fmt.Errorf("save position: %w", err)
	}
	return nil
}

// LoadMarks returns the stored marks.
func (db *DB) LoadMarks(ctx context.Context) (*Marks, error) {
	marks := new(Marks)
	err := db.Tx(ctx, func(conn *sqlite.Conn) error {
		var err error
		marks.Load(func(yield func(Mark) bool) {
			err = sqlitex.Execute(conn, "SELECT tenant, producer, sequence FROM projection_mark", &sqlitex.ExecOptions{
				ResultFunc: func(stmt *sqlite.Stmt) error {
					n := uint64(stmt.ColumnInt64(2))
					yield(Mark{stmt.ColumnText(0), stmt.ColumnText(1), n})
					return nil
				},
			})
		})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("load marks: %w", err)
	}
	return marks, nil
}

// SaveMarks stores the changed marks in the current transaction of conn.
func (db *DB) SaveMarks(conn *sqlite.Conn, marks *Marks) error {
	for m := range marks.Changed() {
		err := sqlitex.Execute(conn,
			"INSERT OR REPLACE INTO projection_mark (tenant, producer, sequence) VALUES (?, ?, ?)",
			&sqlitex.ExecOptions{Args: []any{m.Tenant, m.Producer, int64(m.Sequence)}})
		if err != nil {
			return fmt.Errorf("save marks: %w", err)
		}
	}
	return nil
}

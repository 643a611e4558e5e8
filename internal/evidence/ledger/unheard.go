package ledger

import (
	"context"
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// Unheard returns the names of the producers of which nothing came between the last
// [verifier.Break] and checkpoint c, sorted; none if there was no break. What they sent last
// may be lost without a trace.
func (r *Reader) Unheard(ctx context.Context, c Checkpoint) (names []string, err error) {
	const query = `SELECT name FROM producers p WHERE
		(EXISTS (SELECT 1 FROM leaves l WHERE l.producer = p.producer AND l.leaf < ?1 AND l.class <> 'quarantine')
			OR EXISTS (SELECT 1 FROM seen s WHERE s.producer = p.producer AND s.seen <= ?3))
		AND NOT EXISTS (SELECT 1 FROM leaves l WHERE l.producer = p.producer AND l.leaf >= ?1 AND l.leaf < ?2 AND l.class <> 'quarantine')
		AND NOT EXISTS (SELECT 1 FROM seen s WHERE s.producer = p.producer AND s.seen > ?3 AND s.seen <= ?4)
		ORDER BY name`
	err = r.view(ctx, func(conn *sqlite.Conn) error {
		names = nil
		b, ok, err := lastBreak(conn, c)
		if err != nil || !ok {
			return err
		}
		return sqlitex.Execute(conn, query, &sqlitex.ExecOptions{
			Args:       []any{b.Size, c.Size, b.Arrivals - b.Size, c.Arrivals - c.Size},
			ResultFunc: func(stmt *sqlite.Stmt) error { names = append(names, stmt.ColumnText(0)); return nil },
		})
	})
	if err != nil {
		return nil, fmt.Errorf("producers that were not heard of: %w", err)
	}
	return names, nil
}

// lastBreak returns the checkpoint up to c that noted a break last: the one before
// it has another position, and just as many arrivals.
func lastBreak(conn *sqlite.Conn, c Checkpoint) (b Checkpoint, ok bool, err error) {
	errFound := errors.New("found")
	later := c
	err = sqlitex.Execute(conn, "SELECT note FROM checkpoints WHERE checkpoint < ? ORDER BY checkpoint DESC", &sqlitex.ExecOptions{
		Args: []any{c.Number},
		ResultFunc: func(stmt *sqlite.Stmt) error {
			earlier, err := ReadCheckpoint([]byte(stmt.ColumnText(0)))
			if err != nil {
				return err
			}
			if earlier.Arrivals == later.Arrivals && earlier.Arrivals > 0 && later.Position.Behind(earlier.Position) {
				return errFound
			}
			later = earlier
			return nil
		},
	})
	if errors.Is(err, errFound) {
		return later, true, nil
	}
	return b, false, err
}

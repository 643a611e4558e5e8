package beads

import (
	"context"
	"fmt"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// Backlog returns how many issues the workspaces do not have all of, as far as it
// was flushed.
func (s *Store) Backlog(ctx context.Context) (n int, err error) {
	err = s.db.Tx(ctx, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(conn, "SELECT count(*) FROM bead WHERE marks & ?", &sqlitex.ExecOptions{
			Args:       []any{int64(markDirty)},
			ResultFunc: func(stmt *sqlite.Stmt) error { n = stmt.ColumnInt(0); return nil },
		})
	})
	if err != nil {
		return 0, fmt.Errorf("count issues: %w: %w", ErrTransient, err)
	}
	return n, nil
}

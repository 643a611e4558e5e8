package metrics

import (
	"fmt"
	"strconv"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// costTable stores the counted cost of each run. A later end of the run replaces it.
const costTable = `
CREATE TABLE costs (
	tenant    TEXT NOT NULL,
	run       TEXT NOT NULL,
	micros    INTEGER NOT NULL, -- millionths of a US dollar
	estimated INTEGER NOT NULL, -- 0 or 1
	PRIMARY KEY (tenant, run)
) STRICT, WITHOUT ROWID;
`

const maxMicros = 1 << 50 // of a run, so that sums do not overflow

// cost replaces the cost of a run. An end without a cost, as from a hook, changes nothing.
func (f *fold) cost(e events.Event, c *events.Cost) error {
	if c == nil || !(c.USD > 0) {
		return nil
	}
	run := []any{e.Tenant, e.Run}
	err := sqlitex.Execute(f.conn, `DELETE FROM costs WHERE tenant = ? AND run = ? RETURNING micros, estimated`, &sqlitex.ExecOptions{
		Args: run,
		ResultFunc: func(stmt *sqlite.Stmt) error {
			f.series.add(costTotal, -stmt.ColumnInt64(0), e.Tenant, strconv.FormatBool(stmt.ColumnBool(1)))
			return nil
		},
	})
	if err == nil {
		micros := int64(min(c.USD*1e6, maxMicros))
		f.series.add(costTotal, micros, e.Tenant, strconv.FormatBool(c.Estimated))
		err = sqlitex.Execute(f.conn, `INSERT INTO costs VALUES (?, ?, ?, ?)`, &sqlitex.ExecOptions{Args: append(run, micros, c.Estimated)})
	}
	if err != nil {
		return fmt.Errorf("store cost: %w", err)
	}
	return nil
}

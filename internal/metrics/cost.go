package metrics

import (
	"fmt"
	"strconv"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/pkg/events"
)

const costTable = `
CREATE TABLE costs (
	tenant    TEXT NOT NULL,
	run       TEXT NOT NULL,
	micros    INTEGER NOT NULL, -- millionths of a US dollar
	estimated INTEGER NOT NULL, -- 0 or 1
	PRIMARY KEY (tenant, run)
) STRICT, WITHOUT ROWID;
`

const costParents = `
ALTER TABLE costs ADD COLUMN parent TEXT NOT NULL DEFAULT '';
CREATE INDEX costs_parent ON costs (tenant, parent) WHERE parent <> '';
`

func (f *fold) cost(e events.Event, c *events.Cost) error {
	if c == nil || !(c.USD > 0) {
		return nil
	}
	err := f.addCosts(e, -1)
	if err == nil {
		err = sqlitex.Execute(f.conn, `INSERT OR REPLACE INTO costs (tenant, run, micros, estimated, parent) VALUES (?, ?, ?, ?, ?)`,
			&sqlitex.ExecOptions{Args: []any{e.Tenant, e.Run, int64(c.USD * 1e6), c.Estimated, e.ParentRun}})
	}
	if err == nil {
		err = f.addCosts(e, 1)
	}
	if err != nil {
		return fmt.Errorf("store cost: %w", err)
	}
	return nil
}

// If the run states a cost, estimates for its sub-agents do not count, because the stated cost
// includes them.
func (f *fold) addCosts(e events.Event, factor int64) error {
	return sqlitex.Execute(f.conn, `SELECT c.micros, c.estimated FROM costs c LEFT JOIN costs p ON p.tenant = c.tenant AND p.run = c.parent AND c.parent <> ''
		WHERE c.tenant = ?1 AND (c.run = ?2 OR c.parent = ?2 AND c.parent <> '') AND NOT (c.estimated AND coalesce(NOT p.estimated, 0))`,
		&sqlitex.ExecOptions{
			Args: []any{e.Tenant, e.Run},
			ResultFunc: func(stmt *sqlite.Stmt) error {
				f.series.add(costTotal, factor*stmt.ColumnInt64(0), e.Tenant, strconv.FormatBool(stmt.ColumnBool(1)))
				return nil
			},
		})
}

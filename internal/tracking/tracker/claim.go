package tracker

import (
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/tracking/store"
)

// errOtherScope is why a database is refused that was read for others.
var errOtherScope = errors.New("the issues here were made from the events of others")

// claim makes the database that of tenant's events, or of everybody's. What was
// read for one can not go on for another: its position has passed over events.
func claim(conn *sqlite.Conn, tenant string) error {
	have, known := "", false
	err := store.Each(conn, func(stmt *sqlite.Stmt) error {
		have, known = stmt.ColumnText(0), true
		return nil
	}, "SELECT tenant FROM scope")
	if err != nil {
		return err
	}
	if !known {
		return store.Run(conn, "INSERT INTO scope (id, tenant) VALUES (1, ?)", tenant)
	}
	if have != tenant {
		return fmt.Errorf("%w: --tenant was %q, now it is %q; use another data directory", errOtherScope, have, tenant)
	}
	return nil
}

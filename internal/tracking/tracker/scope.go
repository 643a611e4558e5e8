package tracker

import (
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/tracking/store"
)

var errOtherScope = errors.New("the issues here belong to another choice of tenants")

// bindTenant stores the tenant whose events the database is for. An empty tenant
// means all tenants. It fails if the database belongs to another choice, because its
// position has skipped events of other tenants.
func bindTenant(conn *sqlite.Conn, tenant string) error {
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

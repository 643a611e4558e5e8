package tracker

import (
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/tracking/store"
)

var errOtherScope = errors.New("the issues here belong to another choice of tenants")

// bindTenant rejects a database that was filled for another tenant, because events of this tenant
// may be missing in it.
func bindTenant(conn *sqlite.Conn, tenant string) error {
	have, err := texts(conn, "SELECT tenant FROM scope")
	switch {
	case err != nil:
		return err
	case len(have) == 0:
		return store.Run(conn, "INSERT INTO scope (id, tenant) VALUES (1, ?)", tenant)
	case have[0] != tenant:
		return fmt.Errorf("%w: --tenant was %q, now it is %q; use another data directory", errOtherScope, have[0], tenant)
	}
	return nil
}

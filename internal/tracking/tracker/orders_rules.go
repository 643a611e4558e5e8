package tracker

import (
	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/tracking/store"
)

func (b *batch) rules(tenant string) (rules ledger.Rules, err error) {
	err = store.Each(b.conn, func(stmt *sqlite.Stmt) error {
		o, err := ledger.ParseOrder(stmt.ColumnText(0))
		rules.Apply(o)
		return err
	}, "SELECT note FROM demand WHERE tenant = ? AND state = 'rule' ORDER BY seq", tenant)
	return rules, err
}

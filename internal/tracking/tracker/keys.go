package tracker

import (
	"errors"
	"io/fs"
	"math"
	"path/filepath"
	"slices"

	"golang.org/x/mod/sumdb/note"
	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
	"github.com/hooktrail/hooktrail/internal/tracking/store"
)

// maxRefused bounds how many orders of a tenant are kept that no key which counts
// has signed: one that does may show later.
const maxRefused = 1000

// orderKey returns the key that orders about evidence are signed with: that of
// Options.OrderKey, or of the auditor on the same data directory. It is nil while
// there is none.
func (o Options) orderKey() (note.Verifier, error) {
	if o.OrderKey != "" {
		v, _, err := ledger.ParseVerifier(o.OrderKey)
		return v, err
	}
	v, _, err := ledger.ReadVerifier(filepath.Join(o.DataDir, "keys"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // no key is no error: there may be no auditor here
	}
	return v, err
}

// keyOrders returns the orders that changed the key of a tenant, as far as the
// auditor on the same data directory knows: they may not have come yet.
func (o Options) keyOrders(tenant string) ([]string, error) {
	if o.OrderKey != "" {
		return nil, nil
	}
	return ledger.ReadKeyOrders(filepath.Join(o.DataDir, "keys"), tenant)
}

// keys are the keys whose orders count for a tenant, where in the order in which
// orders came. They are nil while none is known.
func (b *batch) keys(tenant string) (*ledger.Keys, error) {
	key, err := b.orderKey()
	if key == nil || err != nil {
		return nil, err //nolint:nilnil // no key is no error
	}
	var orders []ledger.KeyOrder
	err = store.Each(b.conn, func(stmt *sqlite.Stmt) error {
		orders = append(orders, ledger.KeyOrder{Leaf: stmt.ColumnInt64(0), Signed: stmt.ColumnText(1)})
		return nil
	}, "SELECT seq, note FROM demand WHERE tenant = ? AND state = 'key' ORDER BY seq", tenant)
	if err != nil {
		return nil, err
	}
	coming, err := b.keyOrders(tenant)
	for i, signed := range coming {
		if !slices.ContainsFunc(orders, func(o ledger.KeyOrder) bool { return o.Signed == signed }) {
			orders = append(orders, ledger.KeyOrder{Leaf: math.MaxInt64 - int64(len(coming)-i), Signed: signed})
		}
	}
	keys := ledger.LinkKeys(key, tenant, orders)
	return &keys, err
}

// changeKey notes an order that changes the key, and takes in those that were
// refused: it may show that a key counts which has signed one of them.
func (b *batch) changeKey(tenant, event, signed string, upto int64) error {
	if err := b.keep(tenant, event, signed, "key", upto); err != nil {
		return err
	}
	return b.checkKept()
}

// keep keeps an order as it came.
func (b *batch) keep(tenant, event, signed, state string, upto int64) error {
	return store.Run(b.conn, "INSERT OR IGNORE INTO demand (tenant, id, state, upto, note) VALUES (?, ?, ?, ?, ?)",
		tenant, "event "+event, state, upto, signed)
}

// refuse keeps an order that no key which counts has signed.
func (b *batch) refuse(tenant, event, signed string, upto int64) error {
	n, err := sqlitetx.Int(b.conn, "SELECT count(*) FROM demand WHERE state = 'unchecked' AND tenant = ?", tenant)
	if err != nil || n >= maxRefused {
		return err
	}
	return b.keep(tenant, event, signed, "unchecked", upto)
}

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
	"github.com/hooktrail/hooktrail/pkg/events"
)

const maxUnsigned = 1000

// HasOrderKey reports whether the tracker knows the key that verifies signed instructions to erase
// data.
func (o Options) HasOrderKey() (bool, error) {
	key, err := o.orderKey()
	return key != nil, err
}

func (o Options) orderKey() (note.Verifier, error) {
	if o.OrderKey != "" {
		v, _, err := ledger.ParseVerifier(o.OrderKey)
		return v, err
	}
	v, _, err := ledger.ReadVerifier(filepath.Join(o.DataDir, "keys"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil //nolint:nilnil // there may be no auditor here
	}
	return v, err
}

// keyOrders reads changes of the auditor's key from its files on this machine, because the files
// can be newer than the stream.
func (o Options) keyOrders(tenant string) ([]string, error) {
	if o.OrderKey != "" {
		return nil, nil
	}
	return ledger.ReadKeyOrders(filepath.Join(o.DataDir, "keys"), tenant)
}

func (b *batch) keys(tenant string) (*ledger.Keys, error) {
	key, err := b.orderKey()
	if key == nil || err != nil {
		return nil, err //nolint:nilnil // no key is a valid result
	}
	var orders, others []ledger.KeyOrder
	err = store.Each(b.conn, func(stmt *sqlite.Stmt) error {
		o := ledger.KeyOrder{Leaf: stmt.ColumnInt64(0), Signed: stmt.ColumnText(1)}
		if stmt.ColumnText(2) == tenant {
			orders = append(orders, o)
		} else {
			others = append(others, o)
		}
		return nil
	}, "SELECT seq, note, tenant FROM demand WHERE state = 'key' ORDER BY seq")
	if err != nil {
		return nil, err
	}
	coming, err := b.keyOrders(tenant)
	for i, signed := range coming {
		if !slices.ContainsFunc(orders, func(o ledger.KeyOrder) bool { return o.Signed == signed }) {
			orders = append(orders, ledger.KeyOrder{Leaf: math.MaxInt64 - int64(len(coming)-i), Signed: signed})
		}
	}
	keys := ledger.LinkKeys(key, tenant, orders, others...)
	return &keys, err
}

func (b *batch) changeKey(tenant, event, signed string, upto int64) error {
	if err := b.storeOrder(tenant, event, signed, "key", upto); err != nil {
		return err
	}
	return b.checkStored()
}

func (b *batch) storeOrder(tenant, event, signed, state string, upto int64) error {
	return store.Run(b.conn, "INSERT OR IGNORE INTO demand (tenant, id, state, upto, note) VALUES (?, ?, ?, ?, ?)",
		tenant, "event "+event, state, upto, signed)
}

func (b *batch) storeUnsigned(tenant, event, signed string, upto int64) error {
	if err := b.noteWaiting(tenant, signed); err != nil {
		return err
	}
	n, err := sqlitetx.Int(b.conn, "SELECT count(*) FROM demand WHERE state = 'unchecked' AND tenant = ?", tenant)
	if err != nil || n >= maxUnsigned {
		return err
	}
	return b.storeOrder(tenant, event, signed, "unchecked", upto)
}

type waitingOrder struct {
	tenant, id, action string
	signer             string // hash of the key that claims to have signed it
}

func (b *batch) noteWaiting(tenant, signed string) error {
	o, signer, err := ledger.PeekOrder(signed)
	if err != nil || o.Tenant != tenant || !changesTexts(o.Action) {
		return nil //nolint:nilerr // any producer can publish a text that is not an order
	}
	b.waiting = append(b.waiting, waitingOrder{tenant, o.ID, string(o.Action), signer})
	return b.answer(o, events.RuleWaits)
}

func changesTexts(a events.AuditAction) bool {
	switch a { //nolint:exhaustive // the other actions do not affect texts
	case events.AuditErase, events.AuditPrune, events.AuditHold, events.AuditLift, events.AuditFloor, events.AuditApprovers:
		return true
	}
	return false
}

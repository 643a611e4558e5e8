package ledger

import (
	"context"
	"fmt"
	"slices"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Orders reads the orders in a ledger, and finds the records that a new order selects.
type Orders struct{ source *source }

// Resolve sets the fields of a new order that depend on the ledger. These are the tenant, the size
// and root of the tree, and the leaf numbers of the selected records.
func (r Orders) Resolve(ctx context.Context, o Order) (Order, error) {
	err := r.source.view(ctx, func(conn *sqlite.Conn) error {
		c, err := newest(conn)
		if err != nil {
			return err
		}
		o.Tenant, o.Size, o.Root = c.Tenant, c.Size, c.Root
		switch s := o.Selection; {
		case o.Action != events.AuditErase && o.Action != events.AuditPrune && o.Action != events.AuditHold:
			return nil
		case o.Action == events.AuditHold && s.User == "" && s.Event == "":
			return nil
		}
		o.Leaves, err = Resolve(conn, o.Selection, c.Size)
		if o.Action == events.AuditHold {
			o.Leaves = o.Leaves.coarse(MaxOrderRanges) // may add leaves that the hold does not select
		}
		return err
	})
	return o, err
}

// Split divides an order with too many leaf ranges for one event into several orders. The first one
// keeps the id, and the others get ids from newID.
func (o Order) Split(newID func() string) []Order {
	var list []Order
	for part := range slices.Chunk(o.Leaves, MaxOrderRanges) {
		p := o
		p.Leaves = part
		if len(list) > 0 {
			p.ID = newID()
		}
		list = append(list, p)
	}
	if len(list) == 0 {
		list = []Order{o}
	}
	return list
}

// Holds returns the orders that currently protect records from erasure, the oldest first.
func (r Orders) Holds(ctx context.Context) (holds []Order, err error) {
	err = r.source.view(ctx, func(conn *sqlite.Conn) error {
		holds, err = LoadHolds(conn)
		return err
	})
	return holds, err
}

// BlockingHolds returns the legal holds that would block the order o. For a hold on a user, it also
// counts the user's records after the hold, which the ledger does not.
func (r Orders) BlockingHolds(ctx context.Context, o Order) (blocking []Order, err error) {
	err = r.source.view(ctx, func(conn *sqlite.Conn) error {
		holds, err := LoadHolds(conn)
		if err != nil {
			return err
		}
		for _, h := range holds {
			covered, err := stops(conn, h, o)
			if err != nil {
				return err
			}
			if covered {
				blocking = append(blocking, h)
			}
		}
		return nil
	})
	return blocking, err
}

func stops(conn *sqlite.Conn, h, o Order) (covered bool, err error) {
	sameTree, err := IsTreeOf(conn, h)
	if err != nil {
		return false, err
	}
	for _, span := range o.Leaves {
		err := EachTarget(conn, span, func(t Target) error {
			if covered || !t.Removable() || t.Removal.Done() {
				return nil
			}
			if covered = h.Covers(o, t, sameTree); covered || h.Selection.User == "" {
				return nil
			}
			covered, err = selects(conn, h.Selection, t)
			return err
		})
		if err != nil || covered {
			return covered, err
		}
	}
	return covered, nil
}

// Outcome returns the order with the given id and its effect. ok is false if the ledger has no such
// order.
func (r Orders) Outcome(ctx context.Context, id string) (done Outcome, ok bool, err error) {
	err = r.source.view(ctx, func(conn *sqlite.Conn) error {
		err := sqlitex.Execute(conn, "SELECT leaf, effect FROM orders WHERE id = ?", &sqlitex.ExecOptions{
			Args: []any{id},
			ResultFunc: func(stmt *sqlite.Stmt) error {
				done, ok = Outcome{Leaf: stmt.ColumnInt64(0), Effect: Effect(stmt.ColumnText(1))}, true
				return nil
			},
		})
		if err != nil || !ok {
			return err
		}
		if done.Removed, err = sqlitetx.Int(conn, "SELECT count(*) FROM erased WHERE ordered = ?", done.Leaf); err != nil {
			return err
		}
		done.Order, err = ReadOrder(conn, done.Leaf)
		return err
	})
	return done, ok, err
}

// Done returns the executed orders with the given action and selection, the oldest first.
func (r Orders) Done(ctx context.Context, action events.AuditAction, what OrderSelection) (list []Outcome, err error) {
	err = r.source.view(ctx, func(conn *sqlite.Conn) error {
		leaves, err := sqlitetx.Ints(conn, "SELECT leaf FROM orders WHERE action = ? AND effect = ? ORDER BY leaf", string(action), string(EffectDone))
		for _, leaf := range leaves {
			if err != nil {
				break
			}
			done := Outcome{Leaf: leaf, Effect: EffectDone}
			if done.Order, err = ReadOrder(conn, leaf); err == nil && done.Order.Selection == what {
				done.Removed, err = sqlitetx.Int(conn, "SELECT count(*) FROM erased WHERE ordered = ?", leaf)
				list = append(list, done)
			}
		}
		return err
	})
	return list, err
}

// Signed returns the signed order in the record with the given leaf number.
func (r Orders) Signed(ctx context.Context, leaf int64) (signed string, err error) {
	err = r.source.view(ctx, func(conn *sqlite.Conn) error {
		_, signed, err = readOrder(conn, leaf)
		return err
	})
	return signed, err
}

// LoadHolds returns the orders that currently protect records from erasure, the oldest first.
func LoadHolds(conn *sqlite.Conn) (holds []Order, err error) {
	leaves, err := sqlitetx.Ints(conn, `SELECT h.leaf FROM orders h WHERE h.action = 'hold' AND NOT EXISTS
		(SELECT 1 FROM orders x WHERE x.action = 'lift' AND x.hold = h.id AND x.effect = 'done') ORDER BY h.leaf`)
	for _, leaf := range leaves {
		if err != nil {
			break
		}
		var o Order
		o, err = ReadOrder(conn, leaf)
		holds = append(holds, o)
	}
	return holds, err
}

// ReadOrder returns the order in the record with the given leaf number, without checking its
// signature.
func ReadOrder(conn *sqlite.Conn, leaf int64) (Order, error) {
	o, _, err := readOrder(conn, leaf)
	return o, err
}

func readOrder(conn *sqlite.Conn, leaf int64) (o Order, signed string, err error) {
	data, err := ReadPayload(conn, leaf)
	if err != nil {
		return o, "", fmt.Errorf("payload of leaf %d: %w", leaf, err)
	}
	e, err := events.Decode(data)
	if err == nil {
		signed = OrderIn(e)
		o, err = readSignedOrder([]byte(signed))
	}
	if err != nil {
		return o, "", fmt.Errorf("%w: leaf %d: %w", ErrDamaged, leaf, err)
	}
	return o, signed, nil
}

package verifier

import (
	"slices"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// orders follows the orders in sequence, computes the effect of each one and compares it
// with the ledger. It shares the rules with the writer, and uses nothing that the writer
// stored.
type orders struct {
	w     *walk
	ids   map[string]bool
	all   []OrderAt
	holds []ledger.Order // in force
}

// inReport returns the entry of an order in a report.
func inReport(o ledger.Order, leaf int64, effect ledger.Effect) OrderAt {
	return OrderAt{
		Leaf: leaf, ID: o.ID, Action: o.Action, By: o.By, Reason: o.Reason, Ticket: o.Ticket, Time: o.Time,
		Selection: o.Selection, Hold: o.Hold, Effect: effect,
	}
}

// order executes the signed order in the event at a leaf.
func (s *orders) order(leaf int64, signed string) error {
	if ledger.IsKeyChange(signed) {
		s.changeKey(leaf, signed)
		return nil
	}
	w := s.w
	o, err := ledger.OpenOrder([]byte(signed), w.v.keys.At(leaf))
	if err != nil && w.v.keys.Replaced(leaf) > 0 {
		s.tooLate(leaf, signed)
	}
	if err != nil || o.Tenant != w.signed.tenant || s.ids[o.ID] {
		return nil //nolint:nilerr // not an order
	}
	s.ids[o.ID] = true
	at := inReport(o, leaf, ledger.EffectDone)
	switch o.Action { //nolint:exhaustive // only orders change a ledger
	case events.AuditHold:
		s.holds = append(s.holds, o)
	case events.AuditLift:
		n := len(s.holds)
		s.holds = slices.DeleteFunc(s.holds, func(h ledger.Order) bool { return h.ID == o.Hold })
		if len(s.holds) == n {
			at.Effect = ledger.EffectVoid
		}
	case events.AuditErase, events.AuditPrune:
		at.Effect, at.Records, err = s.removed(leaf, o)
	}
	s.all = append(s.all, at)
	return err
}

// removed computes which records an order had to destroy, and reports differences.
func (s *orders) removed(leaf int64, o ledger.Order) (ledger.Effect, int64, error) {
	targets, err := s.targets(leaf, o)
	if err != nil {
		return "", 0, err
	}
	if s.held(o, targets) {
		return ledger.EffectHeld, 0, nil // records that were destroyed anyway are reported at the end
	}
	var n, missed int64
	for _, t := range targets {
		switch {
		case t.Removal.Order == leaf && t.Removal.Word == ledger.WordOf(o.Action):
			n++
		case missed == 0:
			s.w.v.problem("leaf %d: its record is there, or went otherwise, where order %s destroyed it", t.Leaf, o.ID)
			missed++
		}
	}
	claims := s.w.removals.claims
	if c := claims[leaf]; c != nil && c.count != n {
		s.w.v.problem("%d records are missing, from that of leaf %d on: of them order %s concerns %d", c.count, c.first, o.ID, n)
	}
	delete(claims, leaf)
	return ledger.EffectDone, n, nil
}

// targets returns the records that an order at a leaf covers and no earlier order destroyed.
func (s *orders) targets(leaf int64, o ledger.Order) (targets []ledger.Target, err error) {
	conn := s.w.facts.conn
	take := func(t ledger.Target) {
		if t.Leaf < leaf && t.Removable() && (!t.Removal.Done() || t.Removal.Order >= leaf) {
			targets = append(targets, t)
		}
	}
	if s.isTree(o) {
		for _, r := range o.Leaves {
			if err := ledger.EachTarget(conn, r, func(t ledger.Target) error { take(t); return nil }); err != nil {
				return nil, err
			}
		}
		return targets, nil
	}
	if o.Action == events.AuditPrune {
		return nil, nil // a later order prunes the expired records of this tree
	}
	// In a ledger with another tree the selection counts.
	err = ledger.EachTarget(conn, ledger.LeafRange{First: 0, Last: leaf - 1}, func(t ledger.Target) error {
		if s.selected(o.Selection, t, leaf) {
			take(t)
		}
		return nil
	})
	return targets, err
}

// selected reports whether a selection includes a leaf. If this order destroyed the record,
// its user and the event of a chunk are unknown, and the table is trusted.
func (s *orders) selected(sel ledger.OrderSelection, t ledger.Target, leaf int64) bool {
	here := t.Removal.Done() && t.Removal.Order == leaf
	if here && sel.Event != "" && t.Kind == string(events.BlobChunk) {
		return true
	}
	if !sel.Fits(t) || sel.User == "" || here {
		return sel.Fits(t)
	}
	if t.Removal.Done() {
		return false
	}
	data, err := ledger.ReadPayload(s.w.facts.conn, t.Leaf)
	if err != nil {
		return false // the walk reported the missing record
	}
	e, err := events.Decode(data)
	return err == nil && e.User == sel.User
}

// isTree reports whether an order refers to this tree. The stored hashes up to here were
// compared with the leaves.
func (s *orders) isTree(o ledger.Order) bool {
	if o.Size > s.w.tree.size {
		return false
	}
	same, err := ledger.IsTreeOf(s.w.facts.conn, o)
	return err == nil && same
}

func (s *orders) held(o ledger.Order, targets []ledger.Target) bool {
	return slices.ContainsFunc(s.holds, func(h ledger.Order) bool {
		here := s.isTree(h)
		return slices.ContainsFunc(targets, func(t ledger.Target) bool { return h.Covers(o, t, here) })
	})
}

// end compares the table of orders with the orders and fills in the report.
func (s *orders) end() error {
	rest := s.all
	var table, index multiset
	err := sqlitex.Execute(s.w.facts.conn, "SELECT leaf, id, action, effect, hold FROM orders NOT INDEXED ORDER BY leaf",
		&sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
			leaf := stmt.ColumnInt64(0)
			if len(rest) == 0 || rest[0].Leaf != leaf || rest[0].ID != stmt.ColumnText(1) ||
				string(rest[0].Action) != stmt.ColumnText(2) || string(rest[0].Effect) != stmt.ColumnText(3) ||
				rest[0].Hold != stmt.ColumnText(4) {
				s.w.v.problem("orders: the row of leaf %d says something else than the order", leaf)
			}
			rest = rest[min(1, len(rest)):]
			table.add(sqlitetx.Bytes(stmt, 1), leaf)
			return nil
		}})
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		s.w.v.problem("orders: %d rows are missing", len(rest))
	}
	last := ""
	err = sqlitex.Execute(s.w.facts.conn, "SELECT id, leaf FROM orders INDEXED BY sqlite_autoindex_orders_1 ORDER BY id",
		&sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
			if id := stmt.ColumnText(0); id <= last {
				s.w.v.problem("the index of orders is out of order")
			} else {
				last = id
			}
			index.add(sqlitetx.Bytes(stmt, 0), stmt.ColumnInt64(1))
			return nil
		}})
	if err == nil && !table.equal(&index) {
		s.w.v.problem("the index of orders differs from the table")
	}
	s.w.v.report.Redacted.conclude(s.all, s.holds)
	return err
}

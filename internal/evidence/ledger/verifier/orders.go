package verifier

import (
	"slices"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type orderLog struct {
	keys    ledger.Keys
	ids     map[string]bool
	all     []OrderAt
	holds   []ledger.Order // in force
	rules   ledger.Rules   // in force
	changes []KeyChange

	acknowledged map[string]Acknowledgement // by finding
}

func newOrderLog(keys ledger.Keys) orderLog {
	return orderLog{keys: keys, ids: make(map[string]bool), acknowledged: make(map[string]Acknowledgement)}
}

func (l *orderLog) open(leaf int64, tenant, signed string, at time.Time) (o ledger.Order, said OrderAt, ok bool) {
	o, approver, effect, err := l.rules.Open([]byte(signed), l.keys.At(leaf), at)
	if err != nil || o.Tenant != tenant {
		return o, said, false
	}
	if approver != "" { // the approved order replaces the proposed one
		l.all = slices.DeleteFunc(l.all, func(p OrderAt) bool {
			proposed := p.ID == o.ID && p.Effect == ledger.EffectProposed
			if proposed {
				delete(l.ids, o.ID)
			}
			return proposed
		})
	}
	if l.ids[o.ID] {
		return o, said, false
	}
	l.ids[o.ID] = true
	said = inReport(o, leaf, effect)
	if said.Approver = approver; effect == ledger.EffectProposed {
		said.Expires = l.rules.Expires(o)
	}
	if effect == "" {
		l.acknowledge(leaf, o)
	}
	return o, said, true
}

func (l *orderLog) change(o ledger.Order) ledger.Effect {
	switch o.Action { //nolint:exhaustive // the others destroy records
	case events.AuditFloor, events.AuditApprovers:
		l.rules.Apply(o)
		return ledger.EffectDone
	case events.AuditHold:
		l.holds = append(l.holds, o)
		return ledger.EffectDone
	case events.AuditAcknowledge:
		return ledger.EffectDone
	case events.AuditLift:
		n := len(l.holds)
		if l.holds = slices.DeleteFunc(l.holds, func(h ledger.Order) bool { return h.ID == o.Hold }); len(l.holds) == n {
			return ledger.EffectVoid
		}
		return ledger.EffectDone
	case events.AuditIssuer, events.AuditRevoke: // read before the walk
		return ledger.EffectDone
	}
	return ""
}

func (l *orderLog) changeKey(leaf int64, tenant, signed string) bool {
	o, before, after, err := ledger.OpenKeyChange([]byte(signed))
	if err != nil || o.Tenant != tenant || l.ids[o.ID] {
		return false
	}
	effect, valid := l.keys.Effect(leaf, before)
	if !valid {
		return false
	}
	l.ids[o.ID] = true
	l.changes = append(l.changes, KeyChange{
		Leaf: leaf, From: ledger.KeyID(before), To: ledger.KeyID(after), By: o.By, Reason: o.Reason, Ticket: o.Ticket, Time: o.Time, Effect: effect,
	})
	l.all = append(l.all, inReport(o, leaf, effect))
	return true
}

func inReport(o ledger.Order, leaf int64, effect ledger.Effect) OrderAt {
	return OrderAt{
		Leaf: leaf, ID: o.ID, Action: o.Action, By: o.By, Reason: o.Reason, Ticket: o.Ticket, Time: o.Time,
		Selection: o.Selection, Hold: o.Hold, Issuer: o.Issuer, Findings: o.Findings, Rule: o.Rule(), Effect: effect,
	}
}

type orders struct {
	orderLog

	w *walk
}

func (s *orders) order(leaf int64, signed string, at time.Time) (err error) {
	tenant := s.w.signed.tenant
	if ledger.IsKeyChange(signed) {
		if !s.changeKey(leaf, tenant, signed) {
			s.byReplacedKey(leaf, signed)
		}
		s.w.v.report.Keys = s.changes[:min(maxOrders, len(s.changes))]
		return nil
	}
	o, said, ok := s.open(leaf, tenant, signed, at)
	switch {
	case !ok:
		s.byReplacedKey(leaf, signed)
		return nil
	case said.Effect != "":
	case o.Action == events.AuditErase || o.Action == events.AuditPrune:
		said.Effect, said.Records, err = s.removed(leaf, o, at)
	default:
		said.Effect = s.change(o)
	}
	s.all = append(s.all, said)
	return err
}

func (s *orders) removed(leaf int64, o ledger.Order, at time.Time) (ledger.Effect, int64, error) {
	targets, err := s.targets(leaf, o)
	if err != nil {
		return "", 0, err
	}
	if slices.ContainsFunc(targets, func(t ledger.Target) bool { return s.rules.Protects(t.Stored, o, at) }) {
		return ledger.EffectFloor, 0, nil
	}
	if s.held(o, targets) {
		return ledger.EffectHeld, 0, nil // removals.end reports records that were destroyed anyway
	}
	var n, missed int64
	for _, t := range targets {
		switch {
		case t.Removal.Order == leaf && t.Removal.Word == ledger.WordOf(o.Action):
			n++
		case missed == 0:
			s.w.v.report.AddProblem("leaf %d: its record is there, or went otherwise, where order %s destroyed it", t.Leaf, o.ID)
			missed++
		}
	}
	claims := s.w.removals.claims
	if c := claims[leaf]; c != nil && c.count != n {
		s.w.v.report.AddProblem("%d records are missing, from that of leaf %d on: of them order %s concerns %d", c.count, c.first, o.ID, n)
	}
	delete(claims, leaf)
	return ledger.EffectDone, n, nil
}

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
	err = ledger.EachTarget(conn, ledger.LeafRange{First: 0, Last: leaf - 1}, func(t ledger.Target) error {
		if s.selected(o.Selection, t, leaf) {
			take(t)
		}
		return nil
	})
	return targets, err
}

// selected cannot check the user of a destroyed record, because the payload is gone.
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
		return false // the walk reports the missing record
	}
	e, err := events.Decode(data)
	return err == nil && e.User == sel.User
}

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

func (s *orders) end() error {
	rest := s.all
	var table, index multiset
	err := sqlitex.Execute(s.w.facts.conn, "SELECT leaf, id, action, effect, hold FROM orders NOT INDEXED ORDER BY leaf",
		&sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
			leaf := stmt.ColumnInt64(0)
			if len(rest) == 0 || rest[0].Leaf != leaf || rest[0].ID != stmt.ColumnText(1) ||
				string(rest[0].Action) != stmt.ColumnText(2) || string(rest[0].Effect) != stmt.ColumnText(3) ||
				rest[0].Hold != stmt.ColumnText(4) {
				s.w.v.report.AddProblem("orders: the row of leaf %d says something else than the order", leaf)
			}
			rest = rest[min(1, len(rest)):]
			table.add(sqlitetx.Bytes(stmt, 1), leaf)
			return nil
		}})
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		s.w.v.report.AddProblem("orders: %d rows are missing", len(rest))
	}
	last := ""
	err = sqlitex.Execute(s.w.facts.conn, "SELECT id, leaf FROM orders INDEXED BY sqlite_autoindex_orders_1 ORDER BY id",
		&sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
			if id := stmt.ColumnText(0); id <= last {
				s.w.v.report.AddProblem("the index of orders is out of order")
			} else {
				last = id
			}
			index.add(sqlitetx.Bytes(stmt, 0), stmt.ColumnInt64(1))
			return nil
		}})
	if err == nil && !table.equal(&index) {
		s.w.v.report.AddProblem("the index of orders differs from the table")
	}
	s.w.v.report.Redacted.conclude(s.all, s.holds, s.rules)
	return err
}

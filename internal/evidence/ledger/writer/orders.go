package writer

import (
	"fmt"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// orders executes the orders in the events of a ledger. It owns the holds in force and
// the number of keys that were replaced.
type orders struct {
	conn     *sqlite.Conn
	tenant   string
	key      *Key
	tree     *merkleTree
	payloads payloads
	scrubber *scrubber

	holds    []ledger.Order // in force, in the order of arrival
	replaced int            // number of keys of the key chain that are no longer in charge
}

// execute executes the order in the event at a leaf, if a key in charge signed it. It
// returns nil for other events, because any producer can publish an event of this kind.
func (s *orders) execute(leaf int64, e events.Event) (*ledger.Outcome, error) {
	d, err := events.Payload[events.AuditAccessedData](e)
	if err != nil || d.Order == "" {
		return nil, nil //nolint:nilerr // an unreadable record contains no order
	}
	if ledger.IsKeyChange(d.Order) {
		return s.changeKey(leaf, d.Order)
	}
	o, err := ledger.OpenOrder([]byte(d.Order), s.key.ring.From(s.replaced))
	if err != nil || o.Tenant != s.tenant {
		return nil, nil //nolint:nilerr // the order has no valid signature
	}
	first, err := s.storeOrder(leaf, o)
	if err != nil || !first {
		return nil, err
	}
	return s.apply(leaf, o)
}

// apply applies a new order.
func (s *orders) apply(leaf int64, o ledger.Order) (_ *ledger.Outcome, err error) {
	done := &ledger.Outcome{Leaf: leaf, Order: o, Effect: ledger.EffectDone}
	switch o.Action { //nolint:exhaustive // only orders change a ledger
	case events.AuditHold:
		s.holds = append(s.holds, o)
	case events.AuditLift:
		if !s.lift(o.Hold) {
			done.Effect = ledger.EffectVoid
		}
	case events.AuditErase, events.AuditPrune:
		done.Effect, done.Removed, err = s.remove(leaf, o)
	}
	if err != nil {
		return nil, fmt.Errorf("order %s: %w", o.ID, err)
	}
	return done, s.storeEffect(leaf, done.Effect)
}

// storeOrder stores that an order was received. It returns false if the ledger has it
// already.
func (s *orders) storeOrder(leaf int64, o ledger.Order) (bool, error) {
	stmt := s.conn.Prep("INSERT INTO orders (leaf, id, action, effect, hold) VALUES (?, ?, ?, '', ?) ON CONFLICT (id) DO NOTHING")
	stmt.BindInt64(1, leaf)
	stmt.BindText(2, o.ID)
	stmt.BindText(3, string(o.Action))
	stmt.BindText(4, o.Hold)
	if err := sqlitetx.Run(stmt); err != nil {
		return false, fmt.Errorf("store order: %w", err)
	}
	return s.conn.Changes() > 0, nil
}

func (s *orders) storeEffect(leaf int64, effect ledger.Effect) error {
	stmt := s.conn.Prep("UPDATE orders SET effect = ? WHERE leaf = ?")
	stmt.BindText(1, string(effect))
	stmt.BindInt64(2, leaf)
	return sqlitetx.Run(stmt)
}

// lift ends a hold. It returns false if the hold is not in force.
func (s *orders) lift(id string) bool {
	for i, h := range s.holds {
		if h.ID == id {
			s.holds = append(s.holds[:i:i], s.holds[i+1:]...)
			return true
		}
	}
	return false
}

// remove destroys the payloads that an order to erase or to prune covers. If a hold covers
// one of them, remove destroys none.
func (s *orders) remove(leaf int64, o ledger.Order) (effect ledger.Effect, removed int64, err error) {
	targets, err := s.targets(leaf, o)
	if err != nil {
		return "", 0, err
	}
	held, err := s.held(o, targets)
	if err != nil || held {
		return ledger.EffectHeld, 0, err
	}
	if len(targets) == 0 {
		return ledger.EffectDone, 0, nil
	}
	if err := s.scrubber.mark(); err != nil {
		return "", 0, err
	}
	blobs := make(map[int64]bool)
	insert := s.conn.Prep("INSERT INTO erased (leaf, word, ordered) VALUES (?, ?, ?)")
	for _, t := range targets {
		if err := s.payloads.remove(t, blobs); err != nil {
			return "", 0, fmt.Errorf("leaf %d: %w", t, err)
		}
		insert.BindInt64(1, t)
		insert.BindText(2, string(ledger.WordOf(o.Action)))
		insert.BindInt64(3, leaf)
		if err := sqlitetx.Run(insert); err != nil {
			return "", 0, err
		}
	}
	return ledger.EffectDone, int64(len(targets)), s.payloads.removeBlobs(blobs)
}

// targets returns the leaves whose payloads an order would destroy, ascending.
func (s *orders) targets(leaf int64, o ledger.Order) ([]int64, error) {
	ranges := o.Leaves
	if same, err := s.tree.isTreeOf(o); err != nil {
		return nil, err
	} else if !same {
		if ranges, err = s.bySelection(o, leaf); err != nil {
			return nil, err
		}
	}
	var targets []int64
	for _, r := range ranges {
		err := ledger.EachTarget(s.conn, r, func(t ledger.Target) error {
			if t.Leaf < leaf && t.Removable() && !t.Removal.Done() {
				targets = append(targets, t.Leaf)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return targets, nil
}

// bySelection returns the leaves that an order selects in a ledger whose tree is not the
// tree of the order. For an order to prune it returns none, because the next one finds the
// expired records of this tree.
func (s *orders) bySelection(o ledger.Order, leaf int64) (ledger.LeafRanges, error) {
	if o.Action == events.AuditPrune {
		return nil, nil
	}
	return ledger.Resolve(s.conn, o.Selection, leaf)
}

// held reports whether a hold covers one of the targets of an order.
func (s *orders) held(o ledger.Order, targets []int64) (bool, error) {
	for _, h := range s.holds {
		here, err := s.tree.isTreeOf(h)
		if err != nil {
			return false, err
		}
		for _, t := range targets {
			var covered bool
			err := ledger.EachTarget(s.conn, ledger.LeafRange{First: t, Last: t}, func(row ledger.Target) error {
				covered = h.Covers(o, row, here)
				return nil
			})
			if err != nil || covered {
				return covered, err
			}
		}
	}
	return false, nil
}

package writer

import (
	"fmt"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type orders struct {
	conn     *sqlite.Conn
	tenant   string
	key      *Key
	tree     *merkleTree
	payloads payloads
	scrubber *scrubber

	holds    []ledger.Order // in force, the oldest first
	rules    ledger.Rules
	replaced int // keys in the ring that are no longer valid
}

func (s *orders) execute(leaf int64, e events.Event, stored time.Time) (*ledger.Outcome, error) {
	signed := ledger.OrderIn(e)
	if signed == "" {
		return nil, nil
	}
	if ledger.IsKeyChange(signed) {
		return s.changeKey(leaf, signed)
	}
	o, approver, effect, err := s.rules.Open([]byte(signed), s.key.ring.From(s.replaced), stored)
	if err != nil || o.Tenant != s.tenant {
		return nil, nil //nolint:nilerr // the order has no valid signature
	}
	if approver != "" { // the approved order replaces the proposed one
		if err := execute(s.conn, "DELETE FROM orders WHERE id = ? AND effect = ?", o.ID, string(ledger.EffectProposed)); err != nil {
			return nil, fmt.Errorf("approve order: %w", err)
		}
	}
	first, err := s.storeOrder(leaf, o)
	if err != nil || !first {
		return nil, err
	}
	if effect != "" {
		return &ledger.Outcome{Leaf: leaf, Order: o, Effect: effect}, s.storeEffect(leaf, effect)
	}
	return s.apply(leaf, o, stored)
}

func (s *orders) apply(leaf int64, o ledger.Order, stored time.Time) (_ *ledger.Outcome, err error) {
	done := &ledger.Outcome{Leaf: leaf, Order: o, Effect: ledger.EffectDone}
	s.rules.Apply(o)
	switch o.Action { //nolint:exhaustive // only orders change a ledger
	case events.AuditHold:
		s.holds = append(s.holds, o)
	case events.AuditLift:
		if !s.lift(o.Hold) {
			done.Effect = ledger.EffectVoid
		}
	case events.AuditErase, events.AuditPrune:
		done.Effect, done.Removed, err = s.remove(leaf, o, stored)
	}
	if err != nil {
		return nil, fmt.Errorf("order %s: %w", o.ID, err)
	}
	return done, s.storeEffect(leaf, done.Effect)
}

func (s *orders) storeOrder(leaf int64, o ledger.Order) (bool, error) {
	err := execute(s.conn, "INSERT INTO orders (leaf, id, action, effect, hold) VALUES (?, ?, ?, '', ?) ON CONFLICT (id) DO NOTHING",
		leaf, o.ID, string(o.Action), o.Hold)
	if err != nil {
		return false, fmt.Errorf("store order: %w", err)
	}
	return s.conn.Changes() > 0, nil
}

func (s *orders) storeEffect(leaf int64, effect ledger.Effect) error {
	return execute(s.conn, "UPDATE orders SET effect = ? WHERE leaf = ?", string(effect), leaf)
}

func (s *orders) lift(id string) bool {
	n := len(s.holds)
	s.holds = slices.DeleteFunc(s.holds, func(h ledger.Order) bool { return h.ID == id })
	return len(s.holds) < n
}

func (s *orders) remove(leaf int64, o ledger.Order, stored time.Time) (effect ledger.Effect, removed int64, err error) {
	targets, young, err := s.targets(leaf, o, stored)
	if err != nil {
		return "", 0, err
	}
	if young {
		return ledger.EffectFloor, 0, nil
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
	for _, t := range targets {
		if err := s.payloads.remove(t, blobs); err != nil {
			return "", 0, fmt.Errorf("leaf %d: %w", t, err)
		}
		err := execute(s.conn, "INSERT INTO erased (leaf, word, ordered) VALUES (?, ?, ?)", t, string(ledger.WordOf(o.Action)), leaf)
		if err != nil {
			return "", 0, err
		}
	}
	return ledger.EffectDone, int64(len(targets)), s.payloads.removeBlobs(blobs)
}

func (s *orders) targets(leaf int64, o ledger.Order, stored time.Time) (targets []int64, young bool, err error) {
	ranges := o.Leaves
	if same, err := s.tree.isTreeOf(o); err != nil {
		return nil, false, err
	} else if !same {
		if ranges, err = s.bySelection(o, leaf); err != nil {
			return nil, false, err
		}
	}
	for _, r := range ranges {
		err := ledger.EachTarget(s.conn, r, func(t ledger.Target) error {
			if t.Leaf < leaf && t.Removable() && !t.Removal.Done() {
				targets = append(targets, t.Leaf)
				young = young || s.rules.Protects(t.Stored, o, stored)
			}
			return nil
		})
		if err != nil {
			return nil, false, err
		}
	}
	return targets, young, nil
}

func (s *orders) bySelection(o ledger.Order, leaf int64) (ledger.LeafRanges, error) {
	if o.Action == events.AuditPrune {
		return nil, nil
	}
	return ledger.Resolve(s.conn, o.Selection, leaf)
}

func (s *orders) held(o ledger.Order, targets []int64) (bool, error) {
	for _, h := range s.holds {
		sameTree, err := s.tree.isTreeOf(h)
		if err != nil {
			return false, err
		}
		for _, t := range targets {
			var covered bool
			err := ledger.EachTarget(s.conn, ledger.LeafRange{First: t, Last: t}, func(row ledger.Target) error {
				covered = h.Covers(o, row, sameTree)
				return nil
			})
			if err != nil || covered {
				return covered, err
			}
		}
	}
	return false, nil
}

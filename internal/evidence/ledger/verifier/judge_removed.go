package verifier

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// judged collects destroyed records by the leaf of the order that they name, and the orders.
type judged struct {
	tenant string
	keys   *ledger.Keys // nil if no order counts
	claims map[int64]*judgedClaim
	ids    map[string]bool // of the orders so far
	holds  []ledger.Order  // in force
	report Redacted

	changes []KeyChange
}

type judgedClaim struct {
	leaves ledger.LeafRanges
	word   ledger.Word
	runs   map[string]bool
}

// Authority sets the keys and the tenant whose orders may destroy records. Without it no
// order may.
func (j *Judge) Authority(tenant string, keys ledger.Keys) {
	j.removed.tenant, j.removed.keys = tenant, &keys
}

// takeRemoved adds the leaf of a destroyed record. The order comes later and is checked
// then.
func (j *Judge) takeRemoved(k Taken) error {
	if k.Bytes != nil || k.Removal.Order <= k.Index || k.Removal.Word != ledger.Erased && k.Removal.Word != ledger.Pruned {
		return errors.New("what became of its record makes no sense")
	}
	if !(ledger.Target{Class: k.Leaf.Class, Kind: string(k.Leaf.Kind)}).Removable() {
		return errors.New("its record is missing: no order destroys such a one")
	}
	c := j.removed.claims[k.Removal.Order]
	if c == nil {
		c = &judgedClaim{word: k.Removal.Word, runs: make(map[string]bool)}
		j.removed.claims[k.Removal.Order] = c
	}
	if c.word != k.Removal.Word {
		return errors.New("one order has destroyed it and others in different words")
	}
	c.leaves.Add(k.Index)
	c.runs[k.Leaf.Run] = true
	return nil
}

// Awaits reports whether a destroyed record names the order at a leaf, or that order changed
// the key.
func (j *Judge) Awaits(index int64) bool {
	return j.removed.claims[index] != nil || j.removed.keys != nil && j.removed.keys.Brought(index)
}

// order adds the order of an event, if it has one, and checks the records that it destroyed.
func (j *Judge) order(index int64, signed string) error {
	r := &j.removed
	c := r.claims[index]
	if r.keys == nil || signed == "" {
		return nil
	}
	if ledger.IsKeyChange(signed) {
		r.changeKey(index, signed)
		return nil
	}
	o, err := ledger.OpenOrder([]byte(signed), r.keys.At(index))
	if err != nil || o.Tenant != r.tenant || r.ids[o.ID] {
		return nil //nolint:nilerr // not an order, so claims that name it stay open
	}
	r.ids[o.ID] = true
	at := inReport(o, index, "")
	if c != nil {
		if !c.accountedFor(o, index) {
			return fmt.Errorf("its order does not concern all of the %d records that were destroyed in its name", c.leaves.Count())
		}
		at.Effect, at.Records = ledger.EffectDone, c.leaves.Count()
		delete(r.claims, index)
		if c.word == ledger.Pruned {
			r.report.Pruned += at.Records
		} else {
			r.report.Erased += at.Records
		}
	}
	if o.Action == events.AuditHold || o.Action == events.AuditLift {
		at.Effect = r.hold(o)
	}
	r.report.Orders = append(r.report.Orders, at)
	return nil
}

// changeKey adds an order that changes the key.
func (r *judged) changeKey(index int64, signed string) {
	o, before, after, err := ledger.OpenKeyChange([]byte(signed))
	if err != nil || o.Tenant != r.tenant || r.ids[o.ID] {
		return
	}
	if effect, counts := r.keys.Effect(index, before); counts {
		r.ids[o.ID] = true
		r.changes = append(r.changes, changeAt(o, index, before, after, effect))
		r.report.Orders = append(r.report.Orders, inReport(o, index, effect))
	}
}

// hold adds an order to hold or to lift and returns its effect.
func (r *judged) hold(o ledger.Order) ledger.Effect {
	if o.Action == events.AuditHold {
		r.holds = append(r.holds, o)
		return ledger.EffectDone
	}
	n := len(r.holds)
	r.holds = slices.DeleteFunc(r.holds, func(h ledger.Order) bool { return h.ID == o.Hold })
	if len(r.holds) == n {
		return ledger.EffectVoid
	}
	return ledger.EffectDone
}

// accountedFor reports whether an order at a leaf covers all records that name it. An order
// for a larger tree than the ledger had was given for another ledger of the same stream.
// There the selection counts.
func (c *judgedClaim) accountedFor(o ledger.Order, index int64) bool {
	if (o.Action != events.AuditErase && o.Action != events.AuditPrune) || ledger.WordOf(o.Action) != c.word {
		return false
	}
	if o.Size > index {
		return o.Action == events.AuditErase && (o.Selection.Run == "" || len(c.runs) == 1 && c.runs[o.Selection.Run])
	}
	for _, r := range c.leaves {
		if !o.Leaves.HasAll(r) {
			return false
		}
	}
	return true
}

// Redacted returns the orders and the number of records that they destroyed. It does not
// check holds. The holds in force are known only for a whole ledger, see [Redacted.Part].
func (j *Judge) Redacted() Redacted {
	r := j.removed.report
	r.conclude(r.Orders, j.removed.holds)
	return r
}

// Unaccounted returns an error for each missing order that destroyed records name. Call it
// after the last record.
func (j *Judge) Unaccounted() (errs []error) {
	for order, c := range j.removed.claims {
		errs = append(errs, fmt.Errorf("%d records are missing, from that of leaf %d on: leaf %d, which they name, brings no order",
			c.leaves.Count(), c.leaves[0].First, order))
	}
	slices.SortFunc(errs, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	return errs
}

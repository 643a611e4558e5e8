package verifier

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type exportRemovals struct {
	orderLog

	tenant         string
	claims         map[int64]*exportClaim
	erased, pruned int64
}

type exportClaim struct {
	leaves   ledger.LeafRanges
	word     ledger.Word
	runs     map[string]bool
	youngest int64 // when the server stored the newest record, in nanoseconds since 1970
}

func (r *exportRemovals) add(k ExportedRecord) error {
	if k.Bytes != nil || k.Removal.Order <= k.Index || k.Removal.Word != ledger.Erased && k.Removal.Word != ledger.Pruned {
		return errors.New("what became of its record makes no sense")
	}
	if !(ledger.Target{Class: k.Leaf.Class, Kind: string(k.Leaf.Kind)}).Removable() {
		return errors.New("its record is missing: no order destroys such a one")
	}
	c := r.claims[k.Removal.Order]
	if c == nil {
		c = &exportClaim{word: k.Removal.Word, runs: make(map[string]bool)}
		r.claims[k.Removal.Order] = c
	}
	if c.word != k.Removal.Word {
		return errors.New("one order has destroyed it and others in different words")
	}
	c.leaves.Add(k.Index)
	if k.Stored.IsZero() {
		c.youngest = math.MaxInt64
	}
	c.youngest = max(c.youngest, nanoseconds(k.Stored))
	c.runs[k.Leaf.Run] = true
	return nil
}

func (r *exportRemovals) order(leaf int64, signed string, stored time.Time) error {
	if ledger.IsKeyChange(signed) {
		r.changeKey(leaf, r.tenant, signed)
		return nil
	}
	o, at, ok := r.open(leaf, r.tenant, signed, stored)
	if !ok {
		return nil
	}
	if at.Effect == "" {
		at.Effect = r.change(o)
	}
	if c := r.claims[leaf]; c != nil && at.Effect == "" {
		if r.rules.Protects(c.youngest, o, stored) {
			return errors.New("its order was to prune records that the retention floor protects")
		}
		if !c.isCoveredBy(o, leaf) {
			return fmt.Errorf("its order does not concern all of the %d records that were destroyed in its name", c.leaves.Count())
		}
		at.Effect, at.Records = ledger.EffectDone, c.leaves.Count()
		delete(r.claims, leaf)
		if c.word == ledger.Pruned {
			r.pruned += at.Records
		} else {
			r.erased += at.Records
		}
	}
	r.all = append(r.all, at)
	return nil
}

func (c *exportClaim) isCoveredBy(o ledger.Order, leaf int64) bool {
	if (o.Action != events.AuditErase && o.Action != events.AuditPrune) || ledger.WordOf(o.Action) != c.word {
		return false
	}
	if o.Size > leaf {
		return o.Action == events.AuditErase && (o.Selection.Run == "" || len(c.runs) == 1 && c.runs[o.Selection.Run])
	}
	return !slices.ContainsFunc(c.leaves, func(r ledger.LeafRange) bool { return !o.Leaves.HasAll(r) })
}

// SetsRule reports whether the record with the given leaf number contains an order that sets a rule
// for later orders. Every bundle contains all such records.
func (c *ExportChecker) SetsRule(leaf int64) bool { return c.ruleAt[leaf] }

func (c *ExportChecker) noteRule(k ExportedRecord, f fact) {
	if f.order == "" || k.Leaf.Class != ledger.ClassEvent {
		return
	}
	r := &c.removed
	o, _, _, err := r.rules.Open([]byte(f.order), r.keys.At(k.Index), k.Stored)
	if err == nil && o.Tenant == r.tenant && o.Rule() != "" {
		c.ruleAt[k.Index] = true
	}
}

// Acknowledge adds a signed order by which a person acknowledged findings. The order is in the
// ledger, but not in the export. The caller must check that the ledger contains it.
func (c *ExportChecker) Acknowledge(leaf int64, signed string) {
	o, said, ok := c.removed.open(leaf, c.removed.tenant, signed, time.Time{})
	if ok && o.Action == events.AuditAcknowledge && said.Effect == "" {
		said.Effect = ledger.EffectDone
		c.removed.all = append(c.removed.all, said)
	}
}

// Matters sets r.Matters to the findings that a person can acknowledge. Call it when r contains all
// findings.
func (c *ExportChecker) Matters(r *Report) { c.facts.matters(r) }

// ExpectsOrder reports whether the record with the given leaf number is an order that the export
// must contain, such as the erasure of another record in the export.
func (c *ExportChecker) ExpectsOrder(leaf int64) bool {
	return c.removed.claims[leaf] != nil || c.removed.keys.ChangedAt(leaf) || c.facts.issuers.Has(leaf)
}

// Redacted returns the orders in the export, with the number of records that each order destroyed.
// If the export is only a part of a ledger, Redacted reports no legal holds, because the order that
// lifts a hold may be missing.
func (c *ExportChecker) Redacted() Redacted {
	r, holds := Redacted{Erased: c.removed.erased, Pruned: c.removed.pruned, Part: c.facts.partial}, c.removed.holds
	if r.Part {
		holds = nil
	}
	r.conclude(c.removed.all, holds, c.removed.rules)
	return r
}

// MissingOrders returns errors about orders that destroyed payloads of records in the export, but
// are missing in the export themselves. Call MissingOrders last.
func (c *ExportChecker) MissingOrders() (errs []error) {
	for order, c := range c.removed.claims {
		errs = append(errs, fmt.Errorf("%d records are missing, from that of leaf %d on: leaf %d, which they name, brings no order",
			c.leaves.Count(), c.leaves[0].First, order))
	}
	slices.SortFunc(errs, func(a, b error) int { return cmp.Compare(a.Error(), b.Error()) })
	return errs
}

package gauntlet

import (
	"fmt"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func orderAttacks() []orderAttack {
	const none = "the order on record, without effect"
	return []orderAttack{
		{
			attack: attack{name: "EraseOrdered", what: "a run erased by order", has: "authority", alone: "VERIFIED, COMPLETE (0)", kept: "VERIFIED, COMPLETE (0)", seen: "by whom; no byte of it is left"},
			give:   func(s *orderTrial) { s.erase(s.key) },
			missed: func(s *orderTrial, r verifier.Report) string {
				if r.Redacted.Erased == 0 || len(r.Redacted.Orders) != 1 || r.Redacted.Orders[0].By != "jdoe" {
					return fmt.Sprintf("the order is not in %+v", r.Redacted)
				}
				return ""
			},
			erased: true,
		},
		{
			attack: attack{name: "OrderForged", what: "an order to erase, signed with a key of their own", has: "a producer", alone: "VERIFIED, COMPLETE (0)", kept: "VERIFIED, COMPLETE (0)", seen: none},
			give:   func(s *orderTrial) { s.erase(s.thief) },
			missed: untouched,
		},
		{
			attack: attack{name: "OrderUnsigned", what: "an order to erase with a byte of it changed: text or signature", has: "a producer", alone: "VERIFIED, COMPLETE (0)", kept: "VERIFIED, COMPLETE (0)", seen: none},
			give: func(s *orderTrial) {
				o := s.order(s.key, ledger.Order{Action: events.AuditErase, Selection: ledger.OrderSelection{Run: "secret"}})
				for at := s.random.IntN(len(o)); ; at = (at + 1) % len(o) {
					if c := o[at]; c >= 'a' && c < 'z' || c >= '0' && c < '9' {
						o[at]++
						break
					}
				}
				s.give(events.AuditErase, o)
			},
			missed: untouched,
		},
		{
			attack: attack{name: "OrderForeign", what: "an order of another tenant, with the signature that it has", has: "a producer", alone: "VERIFIED, COMPLETE (0)", kept: "VERIFIED, COMPLETE (0)", seen: none},
			give: func(s *orderTrial) {
				s.give(events.AuditErase, s.order(s.key, ledger.Order{
					Tenant: "somebody else", Action: events.AuditErase, Selection: ledger.OrderSelection{Run: "secret"},
				}))
			},
			missed: untouched,
		},
		{
			attack: attack{name: "HoldIgnored", what: "an order to erase what is held", has: "authority", alone: "VERIFIED, COMPLETE (0)", kept: "VERIFIED, COMPLETE (0)", seen: "the hold, and that the order was stopped"},
			give:   func(s *orderTrial) { s.hold(); s.erase(s.key) },
			missed: held,
		},
		{
			attack: attack{name: "LiftForged", what: "a hold lifted with a key of their own, then an order to erase", has: "a producer", alone: "VERIFIED, COMPLETE (0)", kept: "VERIFIED, COMPLETE (0)", seen: "the hold, and that the order was stopped"},
			give: func(s *orderTrial) {
				h := s.hold()
				s.give(events.AuditLift, s.order(s.thief, ledger.Order{Action: events.AuditLift, Hold: h.ID}))
				s.erase(s.key)
			},
			missed: held,
		},
		{
			attack: attack{name: "EraseUnordered", what: "a payload destroyed without an order", has: "the file", alone: "INVALID (40)", kept: "INVALID (40)"},
			of:     "OrderForged",
			change: func(s *orderTrial, f *file) {
				f.do("DELETE FROM payloads WHERE leaf = ?", pick(s.random, f.ints(plain)))
			},
		},
		{
			attack: attack{name: "EraseClaimed", what: "a payload destroyed and put down to an order that was about others", has: "the file", alone: "INVALID (40)", kept: "INVALID (40)"},
			of:     "EraseOrdered",
			change: func(s *orderTrial, f *file) {
				leaf := pick(s.random, f.ints(plain+" AND l.run = (SELECT run FROM runs WHERE name = 'open')"))
				f.do("DELETE FROM payloads WHERE leaf = ?", leaf)
				f.do("INSERT INTO erased (leaf, word, ordered) SELECT ?, 'erased', leaf FROM orders", leaf)
			},
		},
		{
			attack: attack{name: "OrderFlip", what: "a bit of a value flipped, in the tables of orders and of what they erased", has: "the file", alone: "INVALID (40)", kept: "INVALID (40)"},
			of:     "EraseOrdered",
			change: func(s *orderTrial, f *file) {
				for flipped := false; !flipped; {
					table := pick(s.random, []string{"orders", "erased"})
					flipped, _ = f.flip(s.random, table, pick(s.random, f.texts("SELECT name FROM pragma_table_info(?)", table)))
				}
			},
		},
		{
			attack: attack{name: "HoldBroken", what: "a payload destroyed and put down to the order that a hold stopped", has: "the file", alone: "INVALID (40)", kept: "INVALID (40)"},
			of:     "HoldIgnored",
			change: func(s *orderTrial, f *file) {
				for _, leaf := range f.ints("SELECT leaf FROM leaves WHERE run = (SELECT run FROM runs WHERE name = 'secret')") {
					f.do("DELETE FROM payloads WHERE leaf = ?", leaf)
					f.do("INSERT INTO erased (leaf, word, ordered) SELECT ?, 'erased', leaf FROM orders WHERE action = 'erase'", leaf)
				}
				f.do("UPDATE orders SET effect = 'done'")
			},
		},
	}
}

func untouched(s *orderTrial, r verifier.Report) string {
	if r.Redacted.Erased+r.Redacted.Pruned > 0 || len(s.left()) == 0 {
		return fmt.Sprintf("it was erased: %+v", r.Redacted)
	}
	return ""
}

func held(s *orderTrial, r verifier.Report) string {
	orders := r.Redacted.Orders
	if r.Redacted.Holds != 1 || len(orders) < 2 || orders[len(orders)-1].Effect != ledger.EffectHeld {
		return fmt.Sprintf("the hold did not stop the order: %+v", r.Redacted)
	}
	return untouched(s, r)
}

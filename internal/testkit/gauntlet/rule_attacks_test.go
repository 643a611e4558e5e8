package gauntlet

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"golang.org/x/mod/sumdb/note"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func ruleAttacks() []orderAttack {
	const fine, floor = "VERIFIED, COMPLETE (0)", 24 * time.Hour
	waits := missedEffect(ledger.EffectProposed)
	return []orderAttack{
		{
			attack: attack{name: "OrderUnapproved", what: "an order to erase, without the approval that a rule requires", has: "authority", alone: fine, kept: fine, seen: "the rule, and that the order waits"},
			give:   func(s *orderTrial) { s.secondPerson(); s.erase(s.key) },
			missed: waits,
		},
		{
			attack: attack{name: "ApprovalForged", what: "an order to erase, approved in the name of an approver: with a key of their own, with the ledger's, or with the approval of another order", has: "authority", alone: fine, kept: fine, seen: "the rule, and that the order waits"},
			give:   func(s *orderTrial) { s.forgeApproval(s.secondPerson()) },
			missed: waits,
		},
		{
			attack: attack{name: "RuleEnded", what: "the rule of a second person ended with one signature, then an order to erase", has: "authority", alone: fine, kept: fine, seen: "the rule, and that both orders wait"},
			give: func(s *orderTrial) {
				s.secondPerson()
				s.rule(ledger.Order{Action: events.AuditApprovers})
				s.erase(s.key)
			},
			missed: waits,
		},
		{
			attack: attack{name: "PruneBelowFloor", what: "an order to prune records below the retention floor", has: "authority", alone: fine, kept: fine, seen: "the floor, and that the order was stopped"},
			give: func(s *orderTrial) {
				s.rule(ledger.Order{Action: events.AuditFloor, Floor: floor})
				s.prune()
			},
			missed: missedEffect(ledger.EffectFloor),
		},
		{
			attack: attack{name: "FloorForged", what: "the retention floor ended with a key of their own, then an order to prune", has: "a producer", alone: fine, kept: fine, seen: "the floor, and that the order was stopped"},
			give: func(s *orderTrial) {
				s.rule(ledger.Order{Action: events.AuditFloor, Floor: floor})
				s.give(events.AuditFloor, s.order(s.thief, ledger.Order{Action: events.AuditFloor}))
				s.prune()
			},
			missed: missedEffect(ledger.EffectFloor),
		},
		{
			attack: attack{name: "UnapprovedDestroyed", what: "payloads destroyed and put down to an order that waits for its approval", has: "the file", alone: "INVALID (40)", kept: "INVALID (40)"},
			of:     "OrderUnapproved", change: destroy,
		},
		{
			attack: attack{name: "ForgedDestroyed", what: "payloads destroyed and put down to an order with a forged approval", has: "the file", alone: "INVALID (40)", kept: "INVALID (40)"},
			of:     "ApprovalForged", change: destroy,
		},
		{
			attack: attack{name: "FloorBroken", what: "payloads below the retention floor destroyed and put down to an order to prune, also with older times", has: "the file", alone: "INVALID (40)", kept: "INVALID (40)"},
			of:     "PruneBelowFloor",
			change: func(s *orderTrial, f *file) {
				destroy(s, f)
				if s.random.IntN(2) == 0 {
					f.do("UPDATE leaves SET stored = stored - ? WHERE run = (SELECT run FROM runs WHERE name = 'secret')", int64(2*floor))
				}
			},
		},
	}
}

func destroy(_ *orderTrial, f *file) {
	f.do("UPDATE orders SET effect = 'done'")
	for _, leaf := range f.ints("SELECT leaf FROM leaves WHERE kind = 'prompt.submit' AND run = (SELECT run FROM runs WHERE name = 'secret')") {
		f.do("DELETE FROM payloads WHERE leaf = ?", leaf)
		f.do("INSERT INTO erased (leaf, word, ordered) SELECT ?, CASE action WHEN 'erase' THEN 'erased' ELSE 'pruned' END, max(leaf) FROM orders WHERE action IN ('erase', 'prune')", leaf)
	}
}

// missedEffect returns an error text if the last order did not have the effect want, or destroyed
// something.
func missedEffect(want ledger.Effect) func(*orderTrial, verifier.Report) string {
	return func(s *orderTrial, r verifier.Report) string {
		orders := r.Redacted.Orders
		if len(orders) < 2 || orders[len(orders)-1].Effect != want || len(r.Redacted.Rules) != 1 || !r.Redacted.Rules[0].InForce {
			return fmt.Sprintf("the last order should be %s: %+v", want, r.Redacted)
		}
		return untouched(s, r)
	}
}

func (s *orderTrial) rule(o ledger.Order) {
	s.Helper()
	s.give(o.Action, s.order(s.key, o))
}

func (s *orderTrial) prune() {
	s.give(events.AuditPrune, s.order(s.key, ledger.Order{
		Action: events.AuditPrune, Selection: ledger.OrderSelection{Run: "secret", Kind: "prompt.*", To: time.Now().UTC().Add(time.Hour)},
	}))
}

// secondPerson requires the approval of amy, and returns her signer.
func (s *orderTrial) secondPerson() note.Signer {
	s.Helper()
	public, amy := personKey(s.T, "amy")
	s.rule(ledger.Order{Action: events.AuditApprovers, Second: ledger.SecondPerson{
		Approvers: []string{public}, For: ledger.SecondPersonActions(), Within: 24 * time.Hour,
	}})
	return amy
}

func (s *orderTrial) forgeApproval(amy note.Signer) {
	s.Helper()
	own := s.order(s.key, ledger.Order{Action: events.AuditErase, Selection: ledger.OrderSelection{Run: "secret"}})
	var by note.Signer
	switch s.random.IntN(3) {
	case 0:
		_, by = personKey(s.T, "amy")
	case 1:
		by = s.key.Signer()
	default: // a signature of an order that she approved
		other := s.order(s.key, ledger.Order{Action: events.AuditErase, Selection: ledger.OrderSelection{Run: "open"}})
		by = replay{amy, s.approve(other, amy)}
	}
	s.give(events.AuditErase, own)
	s.give(events.AuditErase, s.approve(own, by))
}

func (s *orderTrial) approve(signed []byte, by note.Signer) []byte {
	s.Helper()
	v, err := ledger.ParseKey(s.key.Public())
	if err != nil {
		s.Fatal(err)
	}
	approved, err := ledger.Approve(signed, note.VerifierList(v), by)
	if err != nil {
		s.Fatal(err)
	}
	return approved
}

// replay signs with the last signature of another note.
type replay struct {
	note.Signer

	of []byte
}

// Sign implements [note.Signer].
func (r replay) Sign([]byte) ([]byte, error) {
	text := strings.TrimSpace(string(r.of))
	data, err := base64.StdEncoding.DecodeString(text[strings.LastIndexByte(text, ' ')+1:])
	return data[min(4, len(data)):], err // without the key's hash
}

func personKey(tb testing.TB, name string) (public string, signer note.Signer) {
	tb.Helper()
	private, public, err := note.GenerateKey(rand.Reader, name)
	if err != nil {
		tb.Fatal(err)
	}
	if signer, err = note.NewSigner(private); err != nil {
		tb.Fatal(err)
	}
	return public, signer
}

package verifier

import (
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const maxOrders = 1000

// Redacted lists the orders in a ledger, and counts the records whose payloads these orders
// destroyed.
type Redacted struct {
	Erased int64     `json:"erased"` // records whose bytes an order erased
	Pruned int64     `json:"pruned"` // records whose bytes a retention rule destroyed
	Holds  int       `json:"holds"`  // holds in force; 0 if Part is true
	Orders []OrderAt `json:"orders"` // the newest ones

	Rules   []OrderAt `json:"rules,omitempty"`   // the newest orders that set a rule for later orders
	Waiting []OrderAt `json:"waiting,omitempty"` // the newest orders that wait for a second person

	// Unclean means that the files of the ledger may still contain erased payloads.
	Unclean bool `json:"unclean,omitempty"`

	// Part means that the report covers only a part of a ledger. Holds is then 0, because other
	// parts may set or lift holds.
	Part bool `json:"part,omitempty"`
}

// OrderAt describes a signed order in the ledger, as reports show it.
type OrderAt struct {
	Leaf      int64                 `json:"leaf"` // leaf of the event that contains the order
	ID        string                `json:"id"`
	Action    events.AuditAction    `json:"action"` // such as erase, prune, hold or lift
	By        string                `json:"by"`     // person that the order names
	Reason    string                `json:"reason"`
	Ticket    string                `json:"ticket,omitempty"`
	Time      time.Time             `json:"time"`
	Selection ledger.OrderSelection `json:"selection,omitzero"` // records that the order is about
	Hold      string                `json:"hold,omitempty"`     // id of the hold to lift
	Issuer    string                `json:"issuer,omitempty"`   // public key, for orders about issuers
	Findings  []string              `json:"findings,omitempty"` // ids of acknowledged findings
	Rule      string                `json:"rule,omitempty"`     // description of the rule
	Approver  string                `json:"approver,omitempty"` // second person, if one approved it
	Expires   time.Time             `json:"expires,omitzero"`   // set while the order waits for approval
	Effect    ledger.Effect         `json:"effect"`             // done, void, held, floor, proposed or expired
	InForce   bool                  `json:"in_force,omitempty"` // the hold or rule still counts
	Records   int64                 `json:"records,omitempty"`  // records that it destroyed
}

func (r *Redacted) conclude(all []OrderAt, holds []ledger.Order, rules ledger.Rules) {
	r.rules(all, rules)
	r.Holds = len(holds)
	r.Orders = all[max(0, len(all)-maxOrders):]
	inForce := make(map[string]bool, len(holds))
	for _, h := range holds {
		inForce[h.ID] = true
	}
	for i := range r.Orders {
		r.Orders[i].InForce = inForce[r.Orders[i].ID]
	}
}

func (r *Redacted) rules(all []OrderAt, in ledger.Rules) {
	last := make(map[events.AuditAction]int)
	for _, o := range all {
		switch {
		case o.Effect == ledger.EffectProposed:
			r.Waiting = append(r.Waiting, o)
		case o.Rule != "" && o.Effect == ledger.EffectDone:
			last[o.Action] = len(r.Rules)
			r.Rules = append(r.Rules, o)
		}
	}
	if i, ok := last[events.AuditFloor]; ok {
		r.Rules[i].InForce = in.Floor > 0
	}
	if i, ok := last[events.AuditApprovers]; ok {
		r.Rules[i].InForce = !in.Second.IsOff()
	}
	r.Rules, r.Waiting = r.Rules[max(0, len(r.Rules)-maxOrders):], r.Waiting[max(0, len(r.Waiting)-maxOrders):]
}

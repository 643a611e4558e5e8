package verifier

import (
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const maxOrders = 1000

// Redacted counts the records that orders destroyed, and lists the orders. These records are
// not missing.
type Redacted struct {
	Erased int64     `json:"erased"`
	Pruned int64     `json:"pruned"`
	Holds  int       `json:"holds"`  // in force; 0 if Part is true
	Orders []OrderAt `json:"orders"` // the latest ones

	// Part reports that only some runs were given, so that the holds in force are unknown.
	Part bool `json:"part,omitempty"`
}

// OrderAt is an order in a report.
type OrderAt struct {
	Leaf      int64                 `json:"leaf"` // of the event with the order
	ID        string                `json:"id"`
	Action    events.AuditAction    `json:"action"`
	By        string                `json:"by"`
	Reason    string                `json:"reason"`
	Ticket    string                `json:"ticket,omitempty"`
	Time      time.Time             `json:"time"`
	Selection ledger.OrderSelection `json:"selection,omitzero"`
	Hold      string                `json:"hold,omitempty"` // for a lift
	Effect    ledger.Effect         `json:"effect"`
	InForce   bool                  `json:"in_force,omitempty"`
	Records   int64                 `json:"records,omitempty"` // destroyed
}

func (r *Redacted) conclude(all []OrderAt, holds []ledger.Order) {
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

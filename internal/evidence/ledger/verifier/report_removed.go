package verifier

import (
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// maxOrders is how many orders a report names.
const maxOrders = 1000

// Redacted counts what was destroyed by order, and what may not be. None of it is
// missing.
type Redacted struct {
	Erased int64     `json:"erased"` // records
	Pruned int64     `json:"pruned"` // records
	Holds  int       `json:"holds"`  // that are in force; 0 in a Part
	Orders []OrderAt `json:"orders"` // in the order in which they came; the latest of many

	// Part says that this is of a part of a ledger: whether holds are in force there
	// it does not show.
	Part bool `json:"part,omitempty"`
}

// OrderAt is an order in a report.
type OrderAt struct {
	Leaf      int64                 `json:"leaf"` // of the event that brought it
	ID        string                `json:"id"`
	Action    events.AuditAction    `json:"action"`
	By        string                `json:"by"`
	Reason    string                `json:"reason"`
	Ticket    string                `json:"ticket,omitempty"`
	Time      time.Time             `json:"time"`
	Selection ledger.OrderSelection `json:"selection,omitzero"`
	Hold      string                `json:"hold,omitempty"` // of a lift
	Effect    ledger.Effect         `json:"effect"`
	InForce   bool                  `json:"in_force,omitempty"` // of a hold
	Records   int64                 `json:"records,omitempty"`  // that it destroyed
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

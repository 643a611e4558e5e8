package verifier

import (
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
)

// Break is a point where the stream did not continue where the ledger ended. Either messages
// were gone before the auditor read them, or the stream was replaced.
type Break struct {
	Epoch    uint64    `json:"epoch"`    // of the stream after the break; see [ledger.Position]
	Replaced bool      `json:"replaced"` // the stream was rebuilt or rolled back; otherwise messages were gone
	After    uint64    `json:"after"`    // sequence of the tenant's last message before the break, in the old stream
	Until    uint64    `json:"until"`    // reading resumed after this sequence
	Leaves   int64     `json:"leaves"`   // size of the ledger at the break
	Noticed  time.Time `json:"noticed"`
}

// breaks records a break if the position of checkpoint c is after the latest arrival. No
// message leads to such a position.
func (w *walk) breaks(c *ledger.Checkpoint) bool {
	p, last := c.Position, w.arrivals.last
	if w.arrivals.Count == 0 || !p.Behind(ledger.Position{Epoch: uint64(last.Epoch), Sequence: uint64(last.Stream)}) {
		return false
	}
	w.v.report.Breaks = append(w.v.report.Breaks, Break{
		Epoch: p.Epoch, Replaced: int64(p.Epoch) > last.Epoch, After: uint64(last.Stream), Until: p.Sequence,
		Leaves: c.Size, Noticed: c.Time,
	})
	// The next message must be after this position.
	w.arrivals.resume(p)
	w.facts.broke()
	return true
}

// broke marks all producers. Each may have lost more than its numbers show, until its next
// event arrives.
func (c *completeness) broke() {
	for _, s := range c.producers {
		s.unheard = true
	}
}

package verifier

import (
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
)

// Break is a place at which the stream did not go on where the ledger had got to:
// messages were gone before they were read, or the stream was another one.
type Break struct {
	Epoch    uint64    `json:"epoch"`    // of the stream behind it; see [ledger.Position]
	Replaced bool      `json:"replaced"` // the stream was made anew or taken back; otherwise messages were gone
	After    uint64    `json:"after"`    // sequence of the tenant's last message before it, in the stream of then
	Until    uint64    `json:"until"`    // reading went on behind this sequence
	Leaves   int64     `json:"leaves"`   // that the ledger had then
	Noticed  time.Time `json:"noticed"`
}

// breaks takes the checkpoint that the walk is at for the note of a break, if its
// position is behind the latest arrival: no message brought it there.
func (w *walk) breaks(c *ledger.Checkpoint) bool {
	p := c.Position
	if w.arrivals.Count == 0 || !p.Behind(ledger.Position{Epoch: uint64(w.last.Epoch), Sequence: uint64(w.last.Stream)}) {
		return false
	}
	w.report.Breaks = append(w.report.Breaks, Break{
		Epoch: p.Epoch, Replaced: int64(p.Epoch) > w.last.Epoch, After: uint64(w.last.Stream), Until: p.Sequence,
		Leaves: c.Size, Noticed: c.Time,
	})
	// What comes next has to be behind it.
	w.last.Epoch, w.last.Stream, w.lastHash = int64(p.Epoch), int64(p.Sequence), p.Hash
	w.facts.broke()
	return true
}

// broke notes that of the producers so far more may have been lost than their
// numbers tell, until they are heard of again.
func (c *completeness) broke() {
	for _, s := range c.producers {
		s.unheard = true
	}
}

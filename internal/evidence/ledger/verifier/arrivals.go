package verifier

import (
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type arrivals struct {
	ledger.Arrivals

	last     ledger.Arrival
	lastHash events.Hash
}

func (s *arrivals) add(a ledger.Arrival, hash events.Hash) bool {
	inOrder := a.Epoch > s.last.Epoch || a.Epoch == s.last.Epoch && a.Stream > s.last.Stream
	s.Add(a)
	s.last, s.lastHash = a, hash
	return inOrder
}

func (s *arrivals) resume(p ledger.Position) {
	s.last.Epoch, s.last.Stream, s.lastHash = int64(p.Epoch), int64(p.Sequence), p.Hash
}

func (s *arrivals) isAt(p ledger.Position) bool {
	if s.Count == 0 {
		return p == ledger.Position{}
	}
	return int64(p.Epoch) == s.last.Epoch && int64(p.Sequence) == s.last.Stream && p.Hash == s.lastHash
}

// Break is a point at which the stream was replaced, or lost messages before the auditor read them.
type Break struct {
	Epoch    uint64    `json:"epoch"`    // epoch of the new stream
	Replaced bool      `json:"replaced"` // false if messages were deleted
	After    uint64    `json:"after"`    // sequence of the tenant's last message in the old stream
	Until    uint64    `json:"until"`    // reading resumed after this sequence
	Leaves   int64     `json:"leaves"`   // size of the ledger at the break
	Noticed  time.Time `json:"noticed"`  // when the auditor signed that
}

func (w *walk) breaks(c *ledger.Checkpoint) bool {
	p, last := c.Position, w.arrivals.last
	if w.arrivals.Count == 0 || !p.After(ledger.Position{Epoch: uint64(last.Epoch), Sequence: uint64(last.Stream)}) {
		return false
	}
	w.v.report.Breaks = append(w.v.report.Breaks, Break{
		Epoch: p.Epoch, Replaced: int64(p.Epoch) > last.Epoch, After: uint64(last.Stream), Until: p.Sequence,
		Leaves: c.Size, Noticed: c.Time,
	})
	w.arrivals.resume(p)
	w.facts.markSilent()
	return true
}

// markSilent marks each producer as silent until its next event, because its latest events may have
// been lost.
func (c *completeness) markSilent() {
	for _, s := range c.producers {
		s.silentSinceBreak = true
	}
}

package verifier

import (
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// arrivals is the arrivals that the walk has passed. It owns their digest and the latest
// position in the stream.
type arrivals struct {
	ledger.Arrivals

	last     ledger.Arrival // the latest
	lastHash events.Hash    // of the latest message
}

// add adds the next arrival. It returns false if the position is not after the latest one.
func (s *arrivals) add(a ledger.Arrival, hash events.Hash) bool {
	inOrder := a.Epoch > s.last.Epoch || a.Epoch == s.last.Epoch && a.Stream > s.last.Stream
	s.Add(a)
	s.last, s.lastHash = a, hash
	return inOrder
}

// resume sets the position after a break of the stream.
func (s *arrivals) resume(p ledger.Position) {
	s.last.Epoch, s.last.Stream, s.lastHash = int64(p.Epoch), int64(p.Sequence), p.Hash
}

// isAt reports whether p is the position of the latest arrival.
func (s *arrivals) isAt(p ledger.Position) bool {
	if s.Count == 0 {
		return p == ledger.Position{}
	}
	return int64(p.Epoch) == s.last.Epoch && int64(p.Sequence) == s.last.Stream && p.Hash == s.lastHash
}

package projection

import (
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Position is the last stream sequence that a projection has committed. An empty projection has the
// zero Position.
type Position struct {
	Sequence uint64      // sequence of the last applied message
	Stream   time.Time   // creation time of the stream, with which streams are distinguished
	Hash     events.Hash // hash of the message at Sequence
}

// Equal reports whether p and q are the same position.
func (p Position) Equal(q Position) bool {
	return p.Sequence == q.Sequence && p.Hash == q.Hash && p.Stream.Equal(q.Stream)
}

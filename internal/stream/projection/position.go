package projection

import (
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Position is the sequence of the last stream message that a projection has applied. Stream and
// Hash identify the stream and the message, so that a replaced stream is noticed.
type Position struct {
	Sequence uint64    // sequence of the last applied message
	Stream   time.Time // creation time of the stream, which identifies it
	Hash     events.Hash
}

// Equal reports whether p and q are the same position.
func (p Position) Equal(q Position) bool {
	return p.Sequence == q.Sequence && p.Hash == q.Hash && p.Stream.Equal(q.Stream)
}

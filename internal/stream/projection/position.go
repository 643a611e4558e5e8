package projection

import (
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Position is how far a projection has got, and in which stream. The zero
// Position is that of a projection that has seen nothing.
type Position struct {
	Sequence uint64      // stream sequence of the last message applied; 0 when there is none yet
	Stream   time.Time   // when the stream was created: its identity
	Hash     events.Hash // of the bytes of the message at Sequence
}

// Equal reports whether p and q are the same position.
func (p Position) Equal(q Position) bool {
	return p.Sequence == q.Sequence && p.Hash == q.Hash && p.Stream.Equal(q.Stream)
}

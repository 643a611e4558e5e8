package ledger

import (
	"time"

	"github.com/hooktrail/hooktrail/internal/subjects"
)

// Message is one message of the stream, for the tenant of the ledger.
type Message struct {
	Sequence uint64 // of the stream
	Address  subjects.Address
	Data     []byte    // the event's or manifest's bytes, verbatim
	Stored   time.Time // when the server stored it
}

// Stream says which stream messages come from.
type Stream struct {
	Epoch   uint64    // from 1; see [Position]
	Created time.Time // when the stream was created
}

package ledger

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/hooktrail/hooktrail/internal/subjects"
)

// Message is one message of the stream that belongs to the tenant of the ledger.
type Message struct {
	Sequence uint64
	Address  subjects.Address
	Data     []byte    // the event or manifest, verbatim
	Stored   time.Time // when the server stored it
}

// Stream identifies the stream that a message was read from.
type Stream struct {
	Epoch   uint64
	Created time.Time
}

// MarshalJSON also writes the fields Epoch and Created of earlier versions, because programs may
// still read them.
func (s Stream) MarshalJSON() ([]byte, error) {
	return json.Marshal(map[string]any{"epoch": s.Epoch, "created": s.Created, "Epoch": s.Epoch, "Created": s.Created})
}

// Arrival is one message that changed the ledger. The message added a leaf, or it repeated an
// event that the ledger already had.
type Arrival struct {
	Leaf   int64 // new leaf; for a repetition, the leaf of the repeated event
	Epoch  int64
	Stream int64
	Stored int64 // when the server stored it, in nanoseconds since 1970

	// Repeated means that the ledger already had the event. Only then, Producer, Sequence and Hash
	// are set.
	Repeated bool
	Producer string
	Sequence int64
	Hash     []byte
}

// Arrivals is a digest of all arrivals in their order. With it, a checkpoint vouches for facts that
// are not in the tree, such as repetitions and times of storage.
//
// The digest starts as 32 zero bytes, and each arrival replaces it with the SHA-256 of:
//
//	digest ‖ 0 ‖ leaf ‖ epoch ‖ stream ‖ stored                                 a new leaf
//	digest ‖ 1 ‖ leaf ‖ epoch ‖ stream ‖ stored ‖ sequence ‖ hash ‖ producer    a repetition
//
// Each number is 8 bytes, big endian.
type Arrivals struct {
	Count  int64
	Digest tlog.Hash
	buf    []byte
}

// Add includes r, the next message that changed the ledger, in the digest and the count.
func (a *Arrivals) Add(r Arrival) {
	b := append(a.buf[:0], a.Digest[:]...)
	if r.Repeated {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	for _, n := range [...]int64{r.Leaf, r.Epoch, r.Stream, r.Stored} {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	if r.Repeated {
		b = binary.BigEndian.AppendUint64(b, uint64(r.Sequence))
		b = append(b, r.Hash...)
		b = append(b, r.Producer...)
	}
	a.Digest = sha256.Sum256(b)
	a.Count++
	a.buf = b
}

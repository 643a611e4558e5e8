package ledger

import (
	"crypto/sha256"
	"encoding/binary"

	"golang.org/x/mod/sumdb/tlog"
)

// arrival is what the ledger notes beside the tree when a message changed it:
// where in the stream the message was, and, if it was seen again, under which
// number and with which bytes.
type arrival struct {
	leaf   int64 // the new leaf, or the one that was seen again
	epoch  int64
	stream int64
	stored int64 // when the server stored it, nanoseconds since 1970

	again    bool
	producer string
	sequence int64
	hash     []byte
}

// arrivals is the digest of all arrivals in their order. Its first value is 32
// zero bytes; each arrival makes it SHA-256 of
//
//	digest ‖ 0 ‖ leaf ‖ epoch ‖ stream ‖ stored                                 a new leaf
//	digest ‖ 1 ‖ leaf ‖ epoch ‖ stream ‖ stored ‖ sequence ‖ hash ‖ producer    seen again
//
// with numbers as 8 bytes, big endian.
type arrivals struct {
	count  int64
	digest tlog.Hash
	buf    []byte
}

func (a *arrivals) add(r arrival) {
	b := append(a.buf[:0], a.digest[:]...)
	if r.again {
		b = append(b, 1)
	} else {
		b = append(b, 0)
	}
	for _, n := range [...]int64{r.leaf, r.epoch, r.stream, r.stored} {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	if r.again {
		b = binary.BigEndian.AppendUint64(b, uint64(r.sequence))
		b = append(b, r.hash...)
		b = append(b, r.producer...)
	}
	a.digest = sha256.Sum256(b)
	a.count++
	a.buf = b
}

package metrics

import (
	"hash/maphash"
	"strconv"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// numbers finds events that reuse the sequence number of a recent event with other content. Either
// one of the two events is forged, or the outbox was copied.
//
// Both events are counted, because the earlier event may be the forged one.
type numbers struct {
	seed        maphash.Seed
	now, before map[uint64]uint64 // hashes of the contents, by hash of tenant, producer and number
}

// numbersKept limits the events that are remembered in memory. When the limit is reached, the
// oldest half is forgotten.
const numbersKept = 1 << 16

func newNumbers() *numbers {
	return &numbers{seed: maphash.MakeSeed(), now: make(map[uint64]uint64)}
}

func (n *numbers) isReused(e events.Event, data []byte) bool {
	if e.Sequence == 0 {
		return false
	}
	key := maphash.String(n.seed, e.Tenant+"\x00"+e.Producer+"\x00"+strconv.FormatUint(e.Sequence, 10))
	sum := maphash.Bytes(n.seed, data)
	for _, known := range []map[uint64]uint64{n.now, n.before} {
		if first, ok := known[key]; ok {
			return first != sum
		}
	}
	if len(n.now) == numbersKept/2 {
		n.before, n.now = n.now, make(map[uint64]uint64)
	}
	n.now[key] = sum
	return false
}

package metrics

import (
	"hash/maphash"
	"strconv"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// numbers remembers the contents of the latest events by their numbers. A producer has one content
// under each number, so other content is forged, or the outbox was copied. The memory is bounded,
// and a restart clears it. The ledger finds every such event.
//
// Numbers never decide which events count. If they did, the first event with a number could hide
// the event of the producer. Repeated events are recognised by their ids.
type numbers struct {
	seed        maphash.Seed
	now, before map[uint64]uint64 // hash of the content by hash of tenant, producer and number
}

// numbersKept is the number of events after which the oldest half is forgotten.
const numbersKept = 1 << 16

func newNumbers() *numbers {
	return &numbers{seed: maphash.MakeSeed(), now: make(map[uint64]uint64)}
}

// isReused reports whether an event with other content has used the number of e before. data
// contains the stored bytes of e.
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

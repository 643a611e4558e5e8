package metrics

import (
	"hash/maphash"
	"strconv"

	"github.com/hooktrail/hooktrail/pkg/events"
)

type numbers struct {
	seed        maphash.Seed
	now, before map[uint64]uint64 // hashes of the contents, by hash of tenant, producer and number
}

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

package disk

import (
	"hash/crc32"
	"sync"
	"sync/atomic"
)

// Preparing the processor's instructions takes as long as 100 KB without them. So a hook command, which
// stores a few events, never prepares them.
const slowBytes = 64 << 10

var (
	summed atomic.Int64 // bytes, at most slowBytes and one text

	slow = sync.OnceValue(func() *crc32.Table {
		var t crc32.Table // crc32.MakeTable would prepare the instructions
		for i := range t {
			sum := uint32(i)
			for range 8 {
				sum = sum>>1 ^ sum&1*crc32.Castagnoli
			}
			t[i] = sum
		}
		return &t
	})
	fast = sync.OnceValue(func() *crc32.Table { return crc32.MakeTable(crc32.Castagnoli) })
)

// Checksum returns the CRC-32C of b.
func Checksum(b []byte) uint32 {
	if summed.Load() < slowBytes && summed.Add(int64(len(b))) < slowBytes {
		return crc32.Checksum(b, slow())
	}
	return crc32.Checksum(b, fast())
}

package verifier

import (
	"encoding/binary"
	"hash/maphash"
)

// seed makes the sums unpredictable, so that an attacker cannot construct two equal ones.
var seed = maphash.MakeSeed() //nolint:gochecknoglobals // one for both sides of every comparison

// multiset compares two lists of rows in different orders.
type multiset struct {
	count int64
	sum   uint64
	buf   []byte
}

func (m *multiset) add(text []byte, numbers ...int64) {
	b := append(m.buf[:0], text...)
	for _, n := range numbers {
		b = binary.BigEndian.AppendUint64(b, uint64(n))
	}
	m.buf = b
	m.count++
	m.sum += maphash.Bytes(seed, b)
}

func (m *multiset) equal(o *multiset) bool { return m.count == o.count && m.sum == o.sum }

package segment

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"io"

	"github.com/hooktrail/hooktrail/pkg/publish/internal/disk"
)

// Record is one event in a segment, with little-endian numbers.
//
//	header  magic, length of the body, ordinal, sequence, CRC of the tenant,
//	        CRC of the body, CRC of the header up to here
//	body    id hash (16 bytes), tenant, run and kind (each after its length),
//	        the event's bytes
//
// The header has a separate checksum, so that the number survives damage to the body. After damage,
// a reader searches for the next header. No event can contain one, because JSON has no zero bytes.
type Record struct {
	Ordinal  uint64 // position in the outbox, from 1 across all tenants
	Sequence uint64 // number of the event
	ID       IDHash
	Tenant   string
	Run      string
	Kind     string
	Event    []byte
}

// HeaderBytes is the size of a record's header.
const HeaderBytes = 36

const (
	magic    = "HTR1"
	maxBytes = 4 << 20 // an event has at most events.MaxBytes
)

// IDHash is a short hash of several names, such as tenant, source and id.
type IDHash [16]byte

// HashID returns the hash of names and their lengths.
func HashID(names ...string) IDHash {
	var space [512]byte
	b := space[:0]
	for _, name := range names {
		b = append(binary.AppendUvarint(b, uint64(len(name))), name...)
	}
	sum := sha256.Sum256(b)
	return IDHash(sum[:])
}

// Append appends the bytes of r to dst.
func Append(dst []byte, r *Record) []byte {
	dst, start := Begin(dst, r)
	dst = append(dst, r.Event...)
	End(dst, start, r)
	return dst
}

// Begin appends space for the header and the fields of a record to dst, but not the event. The
// caller appends the event to buf, and then passes start to [End].
func Begin(dst []byte, r *Record) (buf []byte, start int) {
	start = len(dst)
	dst = append(dst, make([]byte, HeaderBytes)...)
	dst = append(dst, r.ID[:]...)
	for _, s := range [...]string{r.Tenant, r.Run, r.Kind} {
		dst = binary.AppendUvarint(dst, uint64(len(s)))
		dst = append(dst, s...)
	}
	return dst, start
}

// End writes the header of a record into buf. The record starts at start, where [Begin] put it,
// and reaches to the end of buf.
func End(buf []byte, start int, r *Record) {
	h, body := buf[start:start+HeaderBytes], buf[start+HeaderBytes:]
	copy(h, magic)
	le := binary.LittleEndian
	le.PutUint32(h[4:], uint32(len(body)))
	le.PutUint64(h[8:], r.Ordinal)
	le.PutUint64(h[16:], r.Sequence)
	le.PutUint32(h[24:], disk.Checksum([]byte(r.Tenant)))
	le.PutUint32(h[28:], disk.Checksum(body))
	le.PutUint32(h[32:], disk.Checksum(h[:32]))
}

// Fault describes the damage of an [Item].
type Fault int

// The faults.
const (
	Intact     Fault = iota
	Damaged          // the body is damaged, but ordinal and sequence are intact
	Unreadable       // damaged bytes, followed by a record
	Torn             // damaged bytes at the end of the segment
)

// Item is a record, or a damaged range of bytes that is no valid record. The Tenant of a damaged
// item may be empty.
type Item struct {
	Record

	Fault     Fault
	Size      int  // number of bytes in the segment
	HasHeader bool // true if a torn item has an intact header
}

type header struct {
	ordinal, sequence  uint64
	length             int
	tenantSum, bodySum uint32
}

func (h header) size() int { return HeaderBytes + h.length }

func parseHeader(b []byte) (h header, ok bool) {
	if len(b) < HeaderBytes || string(b[:len(magic)]) != magic {
		return h, false
	}
	le := binary.LittleEndian
	h = header{
		length:  int(le.Uint32(b[4:])),
		ordinal: le.Uint64(b[8:]), sequence: le.Uint64(b[16:]),
		tenantSum: le.Uint32(b[24:]), bodySum: le.Uint32(b[28:]),
	}
	return h, disk.Checksum(b[:32]) == le.Uint32(b[32:]) && h.length <= maxBytes
}

// Scan reads the item at the start of b. The item shares memory with b. If its header is damaged,
// b must contain the whole rest of the segment.
func Scan(b []byte) (Item, error) {
	if len(b) == 0 {
		return Item{}, io.EOF
	}
	h, hasHeader := parseHeader(b)
	if hasHeader && h.size() <= len(b) {
		return scanBody(h, b[HeaderBytes:h.size()]), nil
	}
	for at := 1; ; at++ {
		i := bytes.Index(b[at:], []byte(magic))
		if i < 0 {
			return Item{Fault: Torn, Size: len(b), HasHeader: hasHeader}, nil
		}
		at += i
		if _, ok := parseHeader(b[at:]); ok {
			return Item{Fault: Unreadable, Size: at}, nil
		}
	}
}

func scanBody(h header, body []byte) Item {
	it := Item{Size: h.size(), Record: Record{Ordinal: h.ordinal, Sequence: h.sequence}}
	rest, ok := body, len(body) >= len(it.ID)
	if ok {
		rest = body[copy(it.ID[:], body):]
	}
	for _, to := range [...]*string{&it.Tenant, &it.Run, &it.Kind} {
		n, size := binary.Uvarint(rest)
		if ok = ok && size > 0 && n <= uint64(len(rest)-size); !ok {
			break
		}
		*to, rest = string(rest[size:size+int(n)]), rest[size+int(n):]
	}
	if ok && disk.Checksum(body) == h.bodySum {
		it.Event = rest
		return it
	}
	it.Fault = Damaged
	if disk.Checksum([]byte(it.Tenant)) != h.tenantSum {
		it.Tenant = ""
	}
	it.Record = Record{Ordinal: h.ordinal, Sequence: h.sequence, Tenant: it.Tenant}
	return it
}

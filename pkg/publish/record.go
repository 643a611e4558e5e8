package publish

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"io"
)

// A record is one event in a segment: a header of fixed size and a body.
//
//	header  magic, length of the body, ordinal, sequence, CRC of the tenant,
//	        CRC of the body, CRC of the header up to here; little endian
//	body    id hash (16 bytes), tenant, run and kind (each with its length in
//	        front), the event's bytes
//
// The header has a checksum of its own, so that a damaged body still says which
// number was lost, and a magic, so that reading goes on behind damage. A header
// cannot be forged inside of an event: it contains zero bytes, JSON does not.
type record struct {
	ordinal  uint64 // place in the outbox, gap-free from 1, whatever the tenant
	sequence uint64 // number of the event
	id       idHash
	tenant   string
	run      string
	kind     string
	event    []byte // as it is published
}

const (
	recordMagic    = "HTR1"
	recordHeader   = 36
	maxRecordBytes = 4 << 20 // an event is at most events.MaxBytes long
)

var crcTable = crc32.MakeTable(crc32.Castagnoli)

func checksum(b []byte) uint32 { return crc32.Checksum(b, crcTable) }

// beginRecord appends to dst a record that lacks its event, which the caller
// appends, and its header, which endRecord fills in. It returns where it starts.
func beginRecord(dst []byte, r *record) (buf []byte, start int) {
	start = len(dst)
	dst = append(dst, make([]byte, recordHeader)...)
	dst = append(dst, r.id[:]...)
	for _, s := range [...]string{r.tenant, r.run, r.kind} {
		dst = binary.AppendUvarint(dst, uint64(len(s)))
		dst = append(dst, s...)
	}
	return dst, start
}

// endRecord fills in the header of the record from start to the end of buf.
func endRecord(buf []byte, start int, r *record) {
	h, body := buf[start:start+recordHeader], buf[start+recordHeader:]
	copy(h, recordMagic)
	le := binary.LittleEndian
	le.PutUint32(h[4:], uint32(len(body)))
	le.PutUint64(h[8:], r.ordinal)
	le.PutUint64(h[16:], r.sequence)
	le.PutUint32(h[24:], checksum([]byte(r.tenant)))
	le.PutUint32(h[28:], checksum(body))
	le.PutUint32(h[32:], checksum(h[:32]))
}

// fault is what is wrong with what was read.
type fault int

const (
	intact     fault = iota
	damaged          // a record whose body is wrong; ordinal and sequence are known
	unreadable       // bytes that are no record, in front of a record
	torn             // bytes that are no record, at the end
)

// item is a record or what is in its place. Of a damaged record the tenant is
// known too unless its own bytes are damaged.
type item struct {
	record

	fault fault
	size  int // bytes that it takes up
}

// header is what the first bytes of a record say.
type header struct {
	ordinal, sequence  uint64
	length             int // of the body
	tenantSum, bodySum uint32
}

func (h header) size() int { return recordHeader + h.length }

// parseHeader reads the header at the start of b.
func parseHeader(b []byte) (h header, ok bool) {
	if len(b) < recordHeader || string(b[:len(recordMagic)]) != recordMagic {
		return h, false
	}
	le := binary.LittleEndian
	h = header{
		length:  int(le.Uint32(b[4:])),
		ordinal: le.Uint64(b[8:]), sequence: le.Uint64(b[16:]),
		tenantSum: le.Uint32(b[24:]), bodySum: le.Uint32(b[28:]),
	}
	return h, checksum(b[:32]) == le.Uint32(b[32:]) && h.length <= maxRecordBytes
}

// scan reads the item at the start of b. Behind a header that can be read, b
// may end with its record; else b must go on to the end of what was written.
// The event of the item aliases b. The error is io.EOF if b is empty.
func scan(b []byte) (item, error) {
	if len(b) == 0 {
		return item{}, io.EOF
	}
	if h, ok := parseHeader(b); ok && h.size() <= len(b) {
		return scanBody(h, b[recordHeader:h.size()]), nil
	}
	for at := 1; ; at++ {
		i := bytes.Index(b[at:], []byte(recordMagic))
		if i < 0 {
			return item{fault: torn, size: len(b)}, nil
		}
		at += i
		if _, ok := parseHeader(b[at:]); ok {
			return item{fault: unreadable, size: at}, nil
		}
	}
}

// scanBody reads the body that belongs to h.
func scanBody(h header, body []byte) item {
	it := item{size: h.size(), record: record{ordinal: h.ordinal, sequence: h.sequence}}
	rest, ok := body, len(body) >= len(it.id)
	if ok {
		rest = body[copy(it.id[:], body):]
	}
	for _, to := range [...]*string{&it.tenant, &it.run, &it.kind} {
		n, size := binary.Uvarint(rest)
		if ok = ok && size > 0 && n <= uint64(len(rest)-size); !ok {
			break
		}
		*to, rest = string(rest[size:size+int(n)]), rest[size+int(n):]
	}
	if ok && checksum(body) == h.bodySum {
		it.event = rest
		return it
	}
	it.fault = damaged
	if checksum([]byte(it.tenant)) != h.tenantSum {
		it.tenant = ""
	}
	it.record = record{ordinal: h.ordinal, sequence: h.sequence, tenant: it.tenant}
	return it
}

package ledger

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// MaxLeafBytes is the maximum size of a leaf, because the tlog-tiles format stores this size in two
// bytes.
const MaxLeafBytes = 64<<10 - 1

const leafHeader = "hooktrail/leaf/v1\n"

// timeLayout ends with a literal Z, so convert times to UTC before formatting.
const timeLayout = "2006-01-02T15:04:05.000000000Z"

// Class is the category of a record in the ledger, such as event or manifest.
type Class string

// The classes.
const (
	ClassEvent      Class = "event"      // the first event with its id
	ClassManifest   Class = "manifest"   // a producer's manifest
	ClassConflict   Class = "conflict"   // has the id or number of an event with other content
	ClassQuarantine Class = "quarantine" // not an event, or its fields differ from its subject
)

// Finding is the reason why a record conflicts with another record, or why it is in quarantine.
type Finding string

// The findings.
const (
	FindingIDReused       Finding = "id-reused"       // another event with this id has another type, run or data
	FindingSequenceReused Finding = "sequence-reused" // the producer used the number for different bytes
	FindingUndecodable    Finding = "undecodable"     // neither an event nor a manifest
	FindingMisaddressed   Finding = "misaddressed"    // its fields differ from its subject
	FindingUnnumbered     Finding = "unnumbered"      // no valid sequence number
	FindingOversized      Finding = "oversized"       // its attributes do not fit into a leaf
)

// Leaf is the entry of a record in the Merkle tree. Its text has one line for each field that is
// not empty, in this order:
//
//	hooktrail/leaf/v1
//	class event
//	id 01932d4e-8a2b-7c41-9f0e-5d6c7b8a9f01
//	producer coder/e4
//	sequence 97
//	run r-42
//	kind tool.before
//	time 2026-11-20T09:14:07.123456789Z
//	sha256 2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824
//
// A conflict or a record in quarantine has a last line such as "finding sequence-reused".
//
// Bytes below 0x20, 0x7f and "%" in values are written as "%" and two upper-case hex digits. New
// fields may only be added at the end, because the hashes of all ledgers depend on the others.
//
// The leaf of a manifest has the last number that it lists. The leaf of a message in quarantine has
// the values of its subject, because its content may be unreadable.
type Leaf struct {
	Class    Class
	ID       string
	Producer string
	Sequence uint64
	Run      string
	Kind     events.Kind
	Time     time.Time // UTC; zero if absent
	Hash     events.Hash
	Finding  Finding
}

// Encode returns the text of l, from which the leaf hash is computed.
func (l Leaf) Encode() []byte { return l.Append(nil) }

// Append appends the text of l to dst.
func (l Leaf) Append(dst []byte) []byte {
	f := LeafFields[string]{
		Class: string(l.Class), ID: l.ID, Producer: l.Producer, Sequence: l.Sequence,
		Run: l.Run, Kind: string(l.Kind), Time: FormatTime(l.Time), Finding: string(l.Finding),
	}
	return AppendLeaf(dst, f, l.Hash[:])
}

// LeafFields are the values in a leaf, in the types in which the database returns them. They need
// no conversion before [AppendLeaf].
type LeafFields[T string | []byte] struct {
	Class, ID, Producer, Run, Kind, Time, Finding T
	Sequence                                      uint64
}

// AppendLeaf appends the text of the leaf with the fields f to dst. hash is the SHA-256 of the
// record.
func AppendLeaf[T string | []byte](dst []byte, f LeafFields[T], hash []byte) []byte {
	dst = append(dst, leafHeader...)
	dst = appendField(dst, "class ", f.Class)
	dst = appendField(dst, "id ", f.ID)
	dst = appendField(dst, "producer ", f.Producer)
	if f.Sequence != 0 {
		dst = append(dst, "sequence "...)
		dst = append(strconv.AppendUint(dst, f.Sequence, 10), '\n')
	}
	dst = appendField(dst, "run ", f.Run)
	dst = appendField(dst, "kind ", f.Kind)
	dst = appendField(dst, "time ", f.Time)
	dst = append(dst, "sha256 "...)
	dst = append(hex.AppendEncode(dst, hash), '\n')
	return appendField(dst, "finding ", f.Finding)
}

func appendField[T string | []byte](dst []byte, name string, value T) []byte {
	if len(value) == 0 {
		return dst
	}
	dst = append(dst, name...)
	start := 0
	for i := range len(value) {
		if c := value[i]; mustEscape(c) {
			dst = append(dst, value[start:i]...)
			dst = append(dst, '%', upperHex[c>>4], upperHex[c&15])
			start = i + 1
		}
	}
	return append(append(dst, value[start:]...), '\n')
}

const upperHex = "0123456789ABCDEF"

func mustEscape(c byte) bool { return c < ' ' || c == '%' || c == 0x7f }

// FormatTime formats t as in leaves and orders, which contain times in UTC with nanoseconds. It
// returns "" for the zero time.
func FormatTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(timeLayout)
}

var errLeaf = errors.New("not a leaf")

// ParseLeaf parses the output of [Leaf.Encode]. Any other text is an error, even if it has the same
// fields.
func ParseLeaf(data []byte) (Leaf, error) {
	if len(data) > MaxLeafBytes {
		return Leaf{}, fmt.Errorf("%w: larger than %d bytes", errLeaf, MaxLeafBytes)
	}
	rest, ok := bytes.CutPrefix(data, []byte(leafHeader))
	if !ok {
		return Leaf{}, fmt.Errorf("%w: first line", errLeaf)
	}
	var l Leaf
	for len(rest) > 0 {
		line, next, ok := bytes.Cut(rest, []byte("\n"))
		name, value, ok2 := bytes.Cut(line, []byte(" "))
		if !ok || !ok2 {
			return Leaf{}, fmt.Errorf("%w: a line without end or value", errLeaf)
		}
		if err := l.set(string(name), value); err != nil {
			return Leaf{}, fmt.Errorf("%w: %s: %w", errLeaf, name, err)
		}
		rest = next
	}
	if !bytes.Equal(l.Encode(), data) {
		return Leaf{}, fmt.Errorf("%w: not in canonical form", errLeaf)
	}
	return l, nil
}

// set accepts the fields in any order, because ParseLeaf encodes the result again and compares it
// with the input.
func (l *Leaf) set(name string, raw []byte) (err error) {
	value, err := unescape(raw)
	if err != nil {
		return err
	}
	switch name {
	case "class":
		l.Class = Class(value)
	case "id":
		l.ID = value
	case "producer":
		l.Producer = value
	case "sequence":
		l.Sequence, err = strconv.ParseUint(value, 10, 64)
	case "run":
		l.Run = value
	case "kind":
		l.Kind = events.Kind(value)
	case "time":
		l.Time, err = time.Parse(timeLayout, value)
	case "sha256":
		l.Hash, err = events.ParseHash(value)
	case "finding":
		l.Finding = Finding(value)
	default:
		return errors.New("unknown field")
	}
	return err
}

func unescape(raw []byte) (string, error) {
	if bytes.IndexByte(raw, '%') < 0 {
		return string(raw), nil
	}
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] != '%' {
			out = append(out, raw[i])
			continue
		}
		if i+2 >= len(raw) {
			return "", errors.New("an escape is cut short")
		}
		hi, lo := bytes.IndexByte([]byte(upperHex), raw[i+1]), bytes.IndexByte([]byte(upperHex), raw[i+2])
		if hi < 0 || lo < 0 {
			return "", errors.New("not an escape")
		}
		out = append(out, byte(hi<<4|lo))
		i += 2
	}
	return string(out), nil
}

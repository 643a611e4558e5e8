package verifier

import (
	"cmp"
	"crypto/ed25519"
	"maps"
	"math"
	"slices"

	"github.com/nats-io/nkeys"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Foreign is a record that names a producer which did not send it, as the signing key of the
// producer proves. Such a record does not affect the verdict on the producer.
type Foreign struct {
	Leaf           int64        `json:"leaf"`
	Class          ledger.Class `json:"class"`           // event, conflict or manifest
	Producer       string       `json:"producer"`        // the name that it used
	Sequence       uint64       `json:"sequence"`        // for a manifest, the last number that it lists
	StreamSequence uint64       `json:"stream_sequence"` // its place in the stream
	Reason         string       `json:"reason"`          // why it is foreign
	SHA256         string       `json:"sha256"`          // hash of the record
}

const (
	foreignKey      = "another key than that of the producer signed it"
	foreignUnsigned = "it has no signature, and the producer signs"
	foreignBad      = "its signature is wrong"
	foreignContent  = "the producer signed other content under this number"
	foreignMissing  = "the producer signed that it never sent this number"
	foreignUnlisted = "no manifest of the producer lists it, and numbers before it are missing"
)

type signature int

const (
	signatureNone signature = iota
	signatureValid
	signatureBad
)

func signatureOf(m events.Manifest) signature {
	if !m.IsSigned() {
		return signatureNone
	}
	public, err := nkeys.Decode(nkeys.PrefixByteUser, []byte(m.Key))
	if err != nil || !ed25519.Verify(public, m.SignedText(), m.Signature()) {
		return signatureBad
	}
	return signatureValid
}

// ForeignRecords are events that were sent under the name of another producer. Often only a later
// manifest shows this, so the verifier reads all records again and ignores these events.
type ForeignRecords struct {
	contents map[numberedContent]bool
	ranges   map[string][]events.Range // by producer
	began    map[string]beginning      // by producer, if its chain seemed to begin with another manifest
}

type numberedContent struct {
	producer string
	sequence uint64
	hash     events.Hash
}

const maxForeign = 1 << 16

const maxReadings = 4

// IsEmpty reports whether f contains no records.
func (f ForeignRecords) IsEmpty() bool { return len(f.contents)+len(f.ranges)+len(f.began) == 0 }

// With returns the records that are in f or in g. The ranges in the result ascend and do not
// overlap.
func (f ForeignRecords) With(g ForeignRecords) ForeignRecords {
	var u ForeignRecords
	for _, part := range [...]ForeignRecords{f, g} {
		for c := range part.contents {
			u.addContent(c)
		}
		for producer, list := range part.ranges {
			for _, r := range list {
				u.addRange(producer, r)
			}
		}
		for producer, b := range part.began {
			u.addBeginning(producer, b)
		}
	}
	for producer, list := range u.ranges {
		u.ranges[producer] = disjoint(list)
	}
	return u
}

func disjoint(list []events.Range) (all []events.Range) {
	slices.SortStableFunc(list, func(a, b events.Range) int { return cmp.Compare(a.First, b.First) })
	next := uint64(0)
	for _, r := range list {
		if r.First = max(r.First, next); r.First <= r.Last {
			all, next = append(all, r), r.Last+1
		}
	}
	return all
}

func (f *ForeignRecords) addContent(c numberedContent) {
	if f.contents == nil {
		f.contents = make(map[numberedContent]bool)
	}
	if len(f.contents) < maxForeign {
		f.contents[c] = true
	}
}

func (f *ForeignRecords) addRange(producer string, r events.Range) {
	if f.ranges == nil {
		f.ranges = make(map[string][]events.Range)
	}
	if len(f.ranges[producer]) < maxForeign {
		f.ranges[producer] = append(f.ranges[producer], r)
	}
}

func (f *ForeignRecords) addBeginning(producer string, b beginning) {
	if f.began == nil {
		f.began = make(map[string]beginning)
	}
	if had, ok := f.began[producer]; !ok || b.granted && !had.granted {
		f.began[producer] = b
	}
}

func (f *ForeignRecords) dropOvertaken(known ForeignRecords) {
	for producer, b := range f.began {
		if b == known.began[producer] {
			continue
		}
		delete(f.ranges, producer)
		maps.DeleteFunc(f.contents, func(c numberedContent, _ bool) bool { return c.producer == producer })
	}
}

// reason returns why the event is foreign, or "" if it is not. The ranges of a producer in f.ranges
// must not overlap.
func (f *ForeignRecords) reason(c numberedContent) string {
	if f.contents[c] {
		return foreignContent
	}
	list := f.ranges[c.producer]
	if i := firstEndingAt(list, c.sequence); i < len(list) && list[i].First <= c.sequence {
		return list[i].Reason
	}
	return ""
}

func firstEndingAt(list []events.Range, n uint64) int {
	i, _ := slices.BinarySearchFunc(list, n, func(r events.Range, n uint64) int { return cmp.Compare(r.Last, n) })
	return i
}

type foreigners struct {
	known ForeignRecords // found by earlier readings
	next  ForeignRecords // found by this reading
	list  []Foreign      // more than in a report
	count int64
	tried int // hashes that choose has combined
	// second contains the events whose number an earlier event has already used. They belong to no
	// run.
	second map[numberedContent]bool
}

func (f *foreigners) addSecond(c numberedContent) {
	if f.second == nil {
		f.second = make(map[numberedContent]bool)
	}
	if len(f.second) < maxForeign {
		f.second[c] = true
	}
}

func (f *foreigners) isEvent(c numberedContent) bool {
	return !f.second[c] && (f.known.IsEmpty() || f.known.reason(c) == "")
}

func (f *foreigners) add(r Foreign) {
	f.count++
	if len(f.list) < maxForeign {
		f.list = append(f.list, r)
	}
}

func (f *foreigners) isForeign(c numberedContent, class ledger.Class, a ledger.Arrival) bool {
	if f.known.IsEmpty() {
		return false
	}
	reason := f.known.reason(c)
	if reason == "" {
		return false
	}
	f.add(Foreign{
		Leaf: a.Leaf, Class: class, Producer: c.producer, Sequence: c.sequence, StreamSequence: uint64(a.Stream), Reason: reason,
		SHA256: c.hash.String(),
	})
	return true
}

func (s *sender) unlisted(isPartial bool) {
	for i, r := range s.missing {
		for _, held := range s.held(r) {
			if i < s.unsignedMissing {
				s.gaps = append(s.gaps, Gap{Producer: s.name, First: held.First, Last: held.Last, Cause: CauseAltered, Reason: "listed as missing"})
				continue
			}
			held.Reason = foreignMissing
			s.found.next.addRange(s.name, held)
		}
	}
	if isPartial || s.key == "" || s.received.highest() == 0 {
		return
	}
	end := s.listed
	for _, r := range s.received.ranges() {
		if r.First <= end+1 {
			end = max(end, r.Last)
		}
	}
	if end < s.received.highest() {
		s.found.next.addRange(s.name, events.Range{First: end + 1, Last: math.MaxInt64, Reason: foreignUnlisted})
	}
}

func (s *sender) held(r events.Range) (list []events.Range) {
	received := s.received.ranges()
	for _, h := range received[firstEndingAt(received, r.First):] {
		if h.First > r.Last {
			break
		}
		if first, last := max(r.First, h.First), min(r.Last, h.Last); first <= last {
			list = append(list, events.Range{First: first, Last: last})
		}
	}
	return list
}

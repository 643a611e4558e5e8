package verifier

import (
	"cmp"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// maxUnlisted limits a producer's events in memory, because it may never send a manifest for them.
const maxUnlisted = 1 << 17

type sender struct {
	number int64
	name   string

	received         numbers
	hashes           map[uint64]events.Hash // hashes of events that wait for a complete manifest
	lastStored       time.Time
	tail             tail
	silentSinceBreak bool

	chain
	pulse
	signed signatures
	lost   *Lost

	others     map[uint64][]other // by number, until a manifest lists the number
	otherCount int
	found      *foreigners

	manifests int64
	listed    uint64
	partial   []events.Manifest
	missing   []events.Range // declared by manifests
	recorded  []events.Range // declared by gap.recorded events
	gaps      []Gap
}

func (s *sender) event(sequence uint64, hash events.Hash, stored int64) bool {
	s.silentSinceBreak = false
	if !s.received.add(sequence) {
		return false
	}
	at := time.Unix(0, stored)
	if at.After(s.lastStored) {
		s.lastStored = at
	}
	if sequence > s.listed {
		s.tail.add(sequence, at)
	}
	if len(s.hashes) < maxUnlisted {
		s.hashes[sequence] = hash
	}
	return true
}

func (s *sender) lostManifest(first, last uint64) {
	if first > last { // the numbers continue, but the chain of hashes does not
		n := max(1, first-1)
		s.gaps = append(s.gaps, Gap{Producer: s.name, First: n, Last: n, Cause: CauseManifest})
		return
	}
	s.gaps = append(s.gaps, Gap{Producer: s.name, First: first, Last: last, Cause: CauseManifest})
	s.forget(events.Manifest{First: first, Last: last})
}

func (s *sender) resolve(m events.Manifest, isLast bool) bool {
	if m.Count > uint64(len(s.hashes)) {
		return false
	}
	hashes := make([]events.Hash, 0, m.Count)
	var numbers []uint64 // only filled if there are several contents
	for n := range listed(m) {
		h, ok := s.hashes[n]
		if !ok {
			return false
		}
		hashes = append(hashes, h)
		if len(s.others) > 0 {
			numbers = append(numbers, n)
		}
	}
	switch {
	case s.settleOthers(m, numbers, hashes):
		s.settled.add(m)
	case m.IsSigned() && !isLast:
		return false
	default:
		s.gaps = append(s.gaps, Gap{Producer: s.name, First: m.First, Last: m.Last, Cause: CauseAltered})
	}
	s.forget(m)
	return true
}

func listed(m events.Manifest) iter.Seq[uint64] {
	return func(yield func(uint64) bool) {
		next := m.First
		for _, r := range append(slices.Clone(m.Missing), events.Range{First: m.Last + 1}) {
			for ; next < r.First; next++ {
				if !yield(next) {
					return
				}
			}
			next = r.Last + 1
		}
	}
}

func (s *sender) hasAllOf(m events.Manifest) bool {
	next := m.First
	for _, r := range append(slices.Clone(m.Missing), events.Range{First: m.Last + 1}) {
		if r.First > next && !s.received.hasAll(next, r.First-1) {
			return false
		}
		next = r.Last + 1
	}
	return true
}

func (s *sender) forget(m events.Manifest) {
	if m.First > m.Last {
		return
	}
	if m.Last-m.First < uint64(len(s.hashes)) {
		for n := m.First; n <= m.Last; n++ {
			delete(s.hashes, n)
		}
		return
	}
	if s.walked += len(s.hashes); s.walked > maxWalked {
		s.tooMany = true
		return
	}
	maps.DeleteFunc(s.hashes, func(n uint64, _ events.Hash) bool { return m.First <= n && n <= m.Last })
}

func (s *sender) conclude() (Producer, []Gap) {
	p := Producer{Name: s.name, Sent: max(s.listed, s.received.highest()), Listed: s.listed, Manifests: s.manifests, SilentSinceBreak: s.silentSinceBreak}
	p.UnsignedBefore, p.Unchecked, p.Enrolment = s.unsignedBefore, s.tooMany, s.enrolment
	for _, r := range s.received.ranges() {
		p.Received += r.Last - r.First + 1
	}
	for _, m := range s.partial {
		p.Unchecked = !s.resolve(m, true) && s.hasAllOf(m) || p.Unchecked
	}
	gaps := slices.DeleteFunc(s.gaps, func(g Gap) bool { return g.Cause == CauseManifest && !s.received.hasAny(g.First, g.Last) })
	gaps = append(gaps, s.lacking(p.Sent)...)
	slices.SortFunc(gaps, func(a, b Gap) int { return cmp.Compare(a.First, b.First) })
	return p, gaps
}

func newSender(number int64, name string, found *foreigners) *sender {
	return &sender{
		number: number, name: name, hashes: make(map[uint64]events.Hash), chain: chain{links: []link{{}}}, found: found,
	}
}

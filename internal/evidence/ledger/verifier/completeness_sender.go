package verifier

import (
	"cmp"
	"slices"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// maxUnlisted bounds the events of a producer that wait for a manifest in memory. A batch
// has at most a thousand events, but a producer without manifests can have any number.
const maxUnlisted = 1 << 17

// sender collects what one producer sent and which of it arrived.
type sender struct {
	number int64
	name   string

	received   []events.Range         // numbers that arrived, ascending
	hashes     map[uint64]events.Hash // of events that no complete manifest lists
	lastStored time.Time
	unheard    bool // nothing arrived since a break of the stream

	manifests int64
	listed    uint64 // the highest number that a manifest lists
	prev      string // hash of the last manifest
	partial   []events.Manifest
	missing   []events.Range // numbers that manifests declare as missing
	recorded  []events.Range // numbers that gap.recorded events declare
	gaps      []Gap          // found so far
}

// event adds a number. It returns false if the number arrived before.
func (s *sender) event(sequence uint64, hash events.Hash, stored int64) bool {
	s.unheard = false
	if !addNumber(&s.received, sequence) {
		return false
	}
	if at := time.Unix(0, stored); at.After(s.lastStored) {
		s.lastStored = at
	}
	if len(s.hashes) < maxUnlisted {
		s.hashes[sequence] = hash
	}
	return true
}

// addNumber adds n to ascending ranges. It returns false if they have it.
func addNumber(ranges *[]events.Range, n uint64) bool {
	list := *ranges
	if last := len(list) - 1; last >= 0 && list[last].Last+1 == n {
		list[last].Last = n
		return true
	}
	// The first range that ends at n or after it.
	i, _ := slices.BinarySearchFunc(list, n, func(r events.Range, n uint64) int {
		if r.Last < n {
			return -1
		}
		return 1
	})
	if i < len(list) && list[i].First <= n {
		return false
	}
	*ranges = slices.Insert(list, i, events.Range{First: n, Last: n})
	list = *ranges
	if i+1 < len(list) && list[i+1].First == n+1 {
		list[i].Last = list[i+1].Last
		list = slices.Delete(list, i+1, i+2)
	}
	if i > 0 && list[i-1].Last+1 == list[i].First {
		list[i-1].Last = list[i].Last
		list = slices.Delete(list, i, i+1)
	}
	*ranges = list
	return true
}

// manifest adds a manifest. It must follow the previous one, and its root must be the root
// of its events.
func (s *sender) manifest(m events.Manifest, hash events.Hash) {
	s.manifests++
	s.unheard = false
	if m.First <= s.listed {
		// This is a forgery, or two processes used one outbox.
		s.gaps = append(s.gaps, Gap{Producer: s.name, First: m.First, Last: m.Last, Cause: CauseAltered, Reason: "listed twice"})
		return
	}
	if m.First > s.listed+1 || m.Prev != s.prev {
		s.lostManifest(s.listed+1, m.First-1)
	}
	s.prev, s.listed = hash.String(), m.Last
	s.missing = append(s.missing, m.Missing...)
	if !s.resolve(m) {
		s.partial = append(s.partial, m)
	}
}

// lostManifest reports that the manifest of a range is lost. Missing events of the range are
// reported separately.
func (s *sender) lostManifest(first, last uint64) {
	if first > last { // the ranges touch, but the hash chain is broken
		first, last = max(1, first-1), max(1, first-1)
	}
	s.gaps = append(s.gaps, Gap{Producer: s.name, First: first, Last: last, Cause: CauseManifest})
	for n := range s.hashes {
		if first <= n && n <= last {
			delete(s.hashes, n)
		}
	}
}

// resolve compares a manifest with its events. It returns false if events are missing.
func (s *sender) resolve(m events.Manifest) bool {
	hashes := make([]events.Hash, 0, min(m.Count, maxUnlisted))
	missing := m.Missing
	for n := m.First; n <= m.Last; n++ {
		for len(missing) > 0 && missing[0].Last < n {
			missing = missing[1:]
		}
		if len(missing) > 0 && missing[0].First <= n {
			n = missing[0].Last // continue after the range
			continue
		}
		h, ok := s.hashes[n]
		if !ok {
			return false
		}
		hashes = append(hashes, h)
	}
	if events.BatchRoot(hashes).String() != m.Root {
		s.gaps = append(s.gaps, Gap{Producer: s.name, First: m.First, Last: m.Last, Cause: CauseAltered})
	}
	s.forget(m)
	return true
}

// hasAllOf reports whether all events of a manifest arrived.
func (s *sender) hasAllOf(m events.Manifest) bool {
	next := m.First
	for _, r := range append(slices.Clone(m.Missing), events.Range{First: m.Last + 1}) {
		if r.First > next && !s.hasRange(next, r.First-1) {
			return false
		}
		next = r.Last + 1
	}
	return true
}

// forget drops the hashes of the events in a manifest.
func (s *sender) forget(m events.Manifest) {
	if m.Last-m.First < uint64(len(s.hashes)) {
		for n := m.First; n <= m.Last; n++ {
			delete(s.hashes, n)
		}
		return
	}
	for n := range s.hashes {
		if m.First <= n && n <= m.Last {
			delete(s.hashes, n)
		}
	}
}

func (s *sender) highest() uint64 {
	if len(s.received) == 0 {
		return 0
	}
	return s.received[len(s.received)-1].Last
}

// conclude returns the producer and its gaps.
func (s *sender) conclude() (Producer, []Gap) {
	p := Producer{Name: s.name, Sent: max(s.listed, s.highest()), Listed: s.listed, Manifests: s.manifests, Unheard: s.unheard}
	for _, r := range s.received {
		p.Received += r.Last - r.First + 1
	}
	for _, m := range s.partial {
		// Events may have arrived late. Events whose hashes were dropped were never compared
		// with the manifest.
		p.Unchecked = !s.resolve(m) && s.hasAllOf(m) || p.Unchecked
	}
	// A range without any event is reported as missing below.
	gaps := slices.DeleteFunc(s.gaps, func(g Gap) bool { return g.Cause == CauseManifest && !s.hasAny(g.First, g.Last) })
	next := uint64(1)
	for _, r := range append(slices.Clone(s.received), events.Range{First: p.Sent + 1}) {
		if r.First > next {
			gaps = append(gaps, s.explain(next, r.First-1)...)
		}
		next = r.Last + 1
	}
	slices.SortFunc(gaps, func(a, b Gap) int { return cmp.Compare(a.First, b.First) })
	return p, gaps
}

// hasAny reports whether a number from first to last arrived.
func (s *sender) hasAny(first, last uint64) bool {
	return slices.ContainsFunc(s.received, func(r events.Range) bool { return r.First <= last && first <= r.Last })
}

// explain splits a missing range by its causes.
func (s *sender) explain(first, last uint64) []Gap {
	var gaps []Gap
	for n := first; n <= last; {
		g := Gap{Producer: s.name, First: n, Cause: CauseStream}
		end := last
		if r, ok := covering(s.recorded, n, &end); ok {
			g.Cause, g.Reason = CauseRecorded, r.Reason
		} else if r, ok := covering(s.missing, n, &end); ok {
			g.Cause, g.Reason = CauseProducer, r.Reason
		}
		g.Last = end
		gaps = append(gaps, g)
		n = end + 1
	}
	return gaps
}

// covering returns the range that contains n. It lowers end to the end of that range, or to
// the start of the next one if no range contains n.
func covering(ranges []events.Range, n uint64, end *uint64) (events.Range, bool) {
	for _, r := range ranges {
		if r.First <= n && n <= r.Last {
			*end = min(*end, r.Last)
			return r, true
		}
		if r.First > n {
			*end = min(*end, r.First-1)
		}
	}
	return events.Range{}, false
}

package verifier

import (
	"cmp"
	"slices"

	"github.com/hooktrail/hooktrail/pkg/events"
)

type numbers struct {
	merged []events.Range // ascending
	// late contains numbers that arrived after higher ones. They are merged in groups, because this
	// is faster.
	late map[uint64]bool
}

const minLate = 1000

func (s *numbers) add(n uint64) bool {
	switch end := len(s.merged) - 1; {
	case end >= 0 && s.merged[end].Last+1 == n:
		s.merged[end].Last = n
	case end < 0 || s.merged[end].Last < n:
		s.merged = append(s.merged, events.Range{First: n, Last: n})
	case s.late[n] || contains(s.merged, n):
		return false
	default:
		if s.late == nil {
			s.late = make(map[uint64]bool)
		}
		if s.late[n] = true; len(s.late) > minLate+len(s.merged)/2 {
			s.merge()
		}
	}
	return true
}

func (s *numbers) merge() {
	list := s.merged
	for n := range s.late {
		list = append(list, events.Range{First: n, Last: n})
	}
	slices.SortFunc(list, func(a, b events.Range) int { return cmp.Compare(a.First, b.First) })
	s.merged, s.late = list[:0], nil
	for _, r := range list {
		if end := len(s.merged) - 1; end >= 0 && s.merged[end].Last+1 == r.First {
			s.merged[end].Last = r.Last
		} else {
			s.merged = append(s.merged, r)
		}
	}
}

func (s *numbers) ranges() []events.Range {
	if len(s.late) > 0 {
		s.merge()
	}
	return s.merged
}

func (s *numbers) highest() uint64 {
	list := s.ranges()
	if len(list) == 0 {
		return 0
	}
	return list[len(list)-1].Last
}

func (s *numbers) hasAny(first, last uint64) bool {
	list := s.ranges()
	i := firstEndingAt(list, first)
	return i < len(list) && list[i].First <= last
}

func (s *numbers) hasAll(first, last uint64) bool {
	list := s.ranges()
	i := firstEndingAt(list, last)
	return i < len(list) && list[i].First <= first
}

func contains(ranges []events.Range, n uint64) bool {
	i := firstEndingAt(ranges, n)
	return i < len(ranges) && ranges[i].First <= n
}

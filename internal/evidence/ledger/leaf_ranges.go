package ledger

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
)

// LeafRange is an inclusive range of leaves.
type LeafRange struct{ First, Last int64 }

// LeafRanges is an ascending list of ranges that neither overlap nor touch.
type LeafRanges []LeafRange

// Add adds a leaf number. Callers must add numbers in ascending order, because Add ignores a number
// that is lower than an earlier one.
func (r *LeafRanges) Add(leaf int64) {
	last := len(*r) - 1
	switch {
	case last >= 0 && leaf <= (*r)[last].Last:
	case last >= 0 && (*r)[last].Last+1 == leaf:
		(*r)[last].Last = leaf
	default:
		*r = append(*r, LeafRange{leaf, leaf})
	}
}

// Has reports whether one of the ranges contains the given leaf number.
func (r LeafRanges) Has(leaf int64) bool {
	return r.HasAll(LeafRange{leaf, leaf})
}

// HasAll reports whether one of the ranges contains all leaf numbers of s.
func (r LeafRanges) HasAll(s LeafRange) bool {
	i, _ := slices.BinarySearchFunc(r, s.First, func(o LeafRange, first int64) int { return cmp.Compare(o.Last, first) })
	return i < len(r) && r[i].First <= s.First && s.Last <= r[i].Last
}

func (r LeafRanges) sorted() (list LeafRanges) {
	slices.SortFunc(r, func(a, b LeafRange) int { return cmp.Compare(a.First, b.First) })
	for _, s := range r {
		if last := len(list) - 1; last >= 0 && s.First <= list[last].Last+1 {
			list[last].Last = max(list[last].Last, s.Last)
			continue
		}
		list = append(list, s)
	}
	return list
}

func (r LeafRanges) coarse(n int) LeafRanges {
	for gap := int64(1); len(r) > n; gap *= 2 {
		var list LeafRanges
		for _, s := range r {
			if last := len(list) - 1; last >= 0 && s.First-list[last].Last <= gap {
				list[last].Last = s.Last
				continue
			}
			list = append(list, s)
		}
		r = list
	}
	return r
}

// Count returns the number of leaves in all ranges.
func (r LeafRanges) Count() (n int64) {
	for _, s := range r {
		n += s.Last - s.First + 1
	}
	return n
}

// String formats the ranges for orders, such as "3-17 20 25-30".
func (r LeafRanges) String() string {
	var b []byte
	for i, s := range r {
		if i > 0 {
			b = append(b, ' ')
		}
		b = strconv.AppendInt(b, s.First, 10)
		if s.Last != s.First {
			b = strconv.AppendInt(append(b, '-'), s.Last, 10)
		}
	}
	return string(b)
}

func (r LeafRanges) valid(size int64) bool {
	next := int64(0)
	for _, s := range r {
		if s.First < next || s.Last < s.First || s.Last >= size {
			return false
		}
		next = s.Last + 2
	}
	return size >= 0
}

var errRanges = errors.New("not ranges of leaves")

// parseRanges accepts the ranges in any order, because [ParseOrder] encodes the result again and
// compares it with the input.
func parseRanges(text string) (list LeafRanges, err error) {
	for part := range strings.SplitSeq(text, " ") {
		first, last, isRange := strings.Cut(part, "-")
		var r LeafRange
		if r.First, err = parseCount(first); err != nil {
			return nil, errRanges
		}
		r.Last = r.First
		if isRange {
			if r.Last, err = parseCount(last); err != nil {
				return nil, errRanges
			}
		}
		list = append(list, r)
	}
	return list, nil
}

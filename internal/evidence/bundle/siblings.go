package bundle

import (
	"math/bits"
	"slices"

	"golang.org/x/mod/sumdb/tlog"
)

type siblings struct {
	leaf  int64
	spans []span // leaf ranges of the siblings, the lowest first
	folds []fold // one for each span
}

func newSiblings(leaf, size int64) *siblings {
	s := &siblings{leaf: leaf}
	for all := (span{0, size}); all.next-all.first > 1; {
		// The left subtree has the largest power of two below the number of leaves (RFC 6962).
		middle := all.first + 1<<(bits.Len64(uint64(all.next-all.first-1))-1)
		left, right := span{all.first, middle}, span{middle, all.next}
		if leaf < middle {
			all, s.spans = left, append(s.spans, right)
		} else {
			all, s.spans = right, append(s.spans, left)
		}
	}
	slices.Reverse(s.spans)
	for _, sibling := range s.spans {
		s.folds = append(s.folds, fold{size: sibling.first})
	}
	return s
}

func (s *siblings) add(t subtree, hash tlog.Hash) error {
	first := t.index << t.level
	if t.level == 0 && first == s.leaf {
		return nil
	}
	i := slices.IndexFunc(s.spans, func(sibling span) bool { return sibling.first <= first && first < sibling.next })
	if i < 0 {
		return errCover
	}
	return s.folds[i].add(t, hash)
}

func (s *siblings) hashes() ([]tlog.Hash, error) {
	path := make([]tlog.Hash, len(s.spans))
	for i, f := range s.folds {
		if f.size != s.spans[i].next {
			return nil, errCover
		}
		path[i] = f.root()
	}
	return path, nil
}

package bundle

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"math/bits"
	"strconv"

	"golang.org/x/mod/sumdb/tlog"
)

type span struct{ first, next int64 }

type subtree struct {
	level int
	index int64 // in the level, from 0
}

func (s span) subtrees() (list []subtree) {
	for s.first < s.next {
		level := bits.Len64(uint64(s.next-s.first)) - 1
		if s.first > 0 {
			level = min(level, bits.TrailingZeros64(uint64(s.first)))
		}
		list = append(list, subtree{level, s.first >> level})
		s.first += 1 << level
	}
	return list
}

func appendSubtree(dst []byte, t subtree, hash tlog.Hash) []byte {
	return fmt.Appendf(dst, "%d %d %s\n", t.level, t.index, hash)
}

var errSubtree = errors.New("not a line of a level, a number and a hash")

func parseSubtree(line []byte) (t subtree, hash tlog.Hash, err error) {
	fields := bytes.Split(line, []byte(" "))
	if len(fields) != 3 {
		return t, hash, errSubtree
	}
	level, err := strconv.ParseUint(string(fields[0]), 10, 6)
	index, err2 := strconv.ParseInt(string(fields[1]), 10, 64)
	if err != nil || err2 != nil || level > 62 || index < 0 || index > (1<<62)>>level {
		return t, hash, errSubtree
	}
	raw, err := base64.StdEncoding.DecodeString(string(fields[2]))
	if err != nil || len(raw) != len(hash) {
		return t, hash, errSubtree
	}
	copy(hash[:], raw)
	t = subtree{int(level), index}
	if !bytes.Equal(bytes.TrimSuffix(appendSubtree(nil, t, hash), []byte("\n")), line) {
		return t, hash, errSubtree
	}
	return t, hash, nil
}

// A fold computes the root hash of a Merkle tree from the hashes of its leaves and subtrees, which
// must be added from left to right.
type fold struct {
	size  int64
	roots []node
}

type node struct {
	level int
	hash  tlog.Hash
}

var errCover = errors.New("it does not begin where the one before it ends")

func (f *fold) add(t subtree, hash tlog.Hash) error {
	if t.index<<t.level != f.size {
		return errCover
	}
	f.size += 1 << t.level
	n := node{t.level, hash}
	for len(f.roots) > 0 && f.roots[len(f.roots)-1].level == n.level {
		n = node{n.level + 1, tlog.NodeHash(f.roots[len(f.roots)-1].hash, n.hash)}
		f.roots = f.roots[:len(f.roots)-1]
	}
	f.roots = append(f.roots, n)
	return nil
}

func (f *fold) root() tlog.Hash {
	if len(f.roots) == 0 {
		empty, _ := tlog.TreeHash(0, nil) // needs no hashes
		return empty
	}
	h := f.roots[len(f.roots)-1].hash
	for i := len(f.roots) - 2; i >= 0; i-- {
		h = tlog.NodeHash(f.roots[i].hash, h)
	}
	return h
}

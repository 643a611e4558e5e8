package writer

import (
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
)

// tree is the right edge of the Merkle tree: all that is needed to append to it
// and to know its root.
type tree struct {
	size int64
	// edge holds per level the hash that was completed last. A new leaf completes
	// subtrees with exactly these, and the root is made of them.
	edge [64]tlog.Hash
}

// append adds a leaf and returns the hashes that it completes, to be stored in
// this order.
func (t *tree) append(leaf []byte) ([]tlog.Hash, error) {
	hashes, err := tlog.StoredHashes(t.size, leaf, tlog.HashReaderFunc(t.read))
	if err != nil {
		return nil, fmt.Errorf("hash leaf %d: %w", t.size, err)
	}
	copy(t.edge[:], hashes)
	t.size++
	return hashes, nil
}

// root returns the root of the tree.
func (t *tree) root() (tlog.Hash, error) {
	return tlog.TreeHash(t.size, tlog.HashReaderFunc(t.read))
}

func (t *tree) read(indexes []int64) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		level, n := tlog.SplitStoredHashIndex(index)
		if n != t.size>>level-1 {
			return nil, fmt.Errorf("hash %d of level %d is not at the edge of %d leaves", n, level, t.size)
		}
		hashes[i] = t.edge[level]
	}
	return hashes, nil
}

// restore makes t the tree of size leaves, whose hashes stored returns.
func (t *tree) restore(size int64, stored func(index int64) (tlog.Hash, error)) error {
	*t = tree{size: size}
	for level := 0; size>>level > 0; level++ {
		h, err := stored(tlog.StoredHashIndex(level, size>>level-1))
		if err != nil {
			return err
		}
		t.edge[level] = h
	}
	return nil
}

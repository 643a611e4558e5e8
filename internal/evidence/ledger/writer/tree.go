package writer

import (
	"bytes"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
)

// merkleTree is the Merkle tree of a ledger while a batch is appended to it. It owns the
// right edge, the hashes that are not stored yet, and the last row of stored hashes.
type merkleTree struct {
	conn    *sqlite.Conn
	edge    edge
	stored  int64       // number of hashes in the file
	tail    []byte      // stored hashes in the last row, if that row is not full
	pending []tlog.Hash // hashes that are not stored yet
}

// append adds a leaf.
func (t *merkleTree) append(leaf []byte) error {
	hashes, err := t.edge.append(leaf)
	t.pending = append(t.pending, hashes...)
	return err
}

// store stores the pending hashes.
func (t *merkleTree) store() error {
	row := t.stored / ledger.HashesPerRow
	buf := bytes.NewBuffer(t.tail)
	for _, h := range t.pending {
		buf.Write(h[:])
	}
	stmt := t.conn.Prep("INSERT OR REPLACE INTO hashes (chunk, bytes) VALUES (?, ?)")
	for buf.Len() > 0 {
		full := buf.Len() >= ledger.HashesPerRow*tlog.HashSize
		if !full {
			t.tail = bytes.Clone(buf.Bytes())
		}
		stmt.BindInt64(1, row)
		stmt.BindBytes(2, buf.Next(ledger.HashesPerRow*tlog.HashSize))
		if err := sqlitetx.Run(stmt); err != nil {
			return fmt.Errorf("store hashes: %w", err)
		}
		if full && buf.Len() == 0 {
			t.tail = nil
		}
		row++
	}
	t.stored, t.pending = t.stored+int64(len(t.pending)), nil
	return nil
}

// readHashes reads hashes of the tree, including those that are not stored yet.
func (t *merkleTree) readHashes(indexes []int64) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		if index >= t.stored {
			hashes[i] = t.pending[index-t.stored]
			continue
		}
		h, err := t.storedHash(index)
		if err != nil {
			return nil, err
		}
		hashes[i] = h
	}
	return hashes, nil
}

// storedHash reads one hash from the file.
func (t *merkleTree) storedHash(index int64) (tlog.Hash, error) {
	hashes, err := ledger.StoredTree{Conn: t.conn}.ReadHashes([]int64{index})
	if err != nil {
		return tlog.Hash{}, err
	}
	return hashes[0], nil
}

// isTreeOf reports whether an order refers to this tree.
func (t *merkleTree) isTreeOf(o ledger.Order) (bool, error) {
	if o.Size > t.edge.size {
		return false, nil
	}
	root, err := tlog.TreeHash(o.Size, tlog.HashReaderFunc(t.readHashes))
	return root == o.Root, err
}

// edge is the right edge of a Merkle tree. It is sufficient to append leaves and to
// compute the root.
type edge struct {
	size int64
	// levels has the last complete hash of each level.
	levels [64]tlog.Hash
}

// append adds a leaf and returns the hashes that it completes, in the order of storage.
func (e *edge) append(leaf []byte) ([]tlog.Hash, error) {
	hashes, err := tlog.StoredHashes(e.size, leaf, tlog.HashReaderFunc(e.read))
	if err != nil {
		return nil, fmt.Errorf("hash leaf %d: %w", e.size, err)
	}
	copy(e.levels[:], hashes)
	e.size++
	return hashes, nil
}

// root returns the root of the tree.
func (e *edge) root() (tlog.Hash, error) {
	return tlog.TreeHash(e.size, tlog.HashReaderFunc(e.read))
}

func (e *edge) read(indexes []int64) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, len(indexes))
	for i, index := range indexes {
		level, n := tlog.SplitStoredHashIndex(index)
		if n != e.size>>level-1 {
			return nil, fmt.Errorf("hash %d of level %d is not at the edge of %d leaves", n, level, e.size)
		}
		hashes[i] = e.levels[level]
	}
	return hashes, nil
}

// restore sets the edge of a tree of size leaves. stored returns a hash of that tree.
func (e *edge) restore(size int64, stored func(index int64) (tlog.Hash, error)) error {
	*e = edge{size: size}
	for level := 0; size>>level > 0; level++ {
		h, err := stored(tlog.StoredHashIndex(level, size>>level-1))
		if err != nil {
			return err
		}
		e.levels[level] = h
	}
	return nil
}

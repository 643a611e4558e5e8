package writer

import (
	"bytes"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
)

type merkleTree struct {
	conn    *sqlite.Conn
	edge    edge
	stored  int64
	tail    []byte // stored hashes of the last row if it is not full
	pending []tlog.Hash
}

func (t *merkleTree) append(leaf []byte) error {
	hashes, err := t.edge.append(leaf)
	t.pending = append(t.pending, hashes...)
	return err
}

func (t *merkleTree) store() error {
	row := t.stored / ledger.HashesPerRow
	buf := bytes.NewBuffer(t.tail)
	for _, h := range t.pending {
		buf.Write(h[:])
	}
	for buf.Len() > 0 {
		full := buf.Len() >= ledger.HashesPerRow*tlog.HashSize
		if !full {
			t.tail = bytes.Clone(buf.Bytes())
		}
		err := execute(t.conn, "INSERT OR REPLACE INTO hashes (chunk, bytes) VALUES (?, ?)", row, buf.Next(ledger.HashesPerRow*tlog.HashSize))
		if err != nil {
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

func (t *merkleTree) storedHash(index int64) (tlog.Hash, error) {
	hashes, err := ledger.StoredTree{Conn: t.conn}.ReadHashes([]int64{index})
	if err != nil {
		return tlog.Hash{}, err
	}
	return hashes[0], nil
}

func (t *merkleTree) isTreeOf(o ledger.Order) (bool, error) {
	if o.Size > t.edge.size {
		return false, nil
	}
	root, err := tlog.TreeHash(o.Size, tlog.HashReaderFunc(t.readHashes))
	return root == o.Root, err
}

type edge struct {
	size   int64
	levels [64]tlog.Hash // last complete hash of each level
}

func (e *edge) append(leaf []byte) ([]tlog.Hash, error) {
	hashes, err := tlog.StoredHashes(e.size, leaf, tlog.HashReaderFunc(e.read))
	if err != nil {
		return nil, fmt.Errorf("hash leaf %d: %w", e.size, err)
	}
	copy(e.levels[:], hashes)
	e.size++
	return hashes, nil
}

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

package ledger

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Proof proves that one record is in a ledger.
type Proof struct {
	Leaf       []byte
	Index      int64       // index of the leaf, from 0
	Path       []tlog.Hash // hashes from the leaf's sibling up to a child of the root
	Checkpoint []byte      // newest one, as a signed note
}

// ErrNoLeaf means that the requested record is not in the ledger.
var ErrNoLeaf = errors.New("it is not in the ledger")

// Tree reads the Merkle tree of a ledger without checking signatures.
type Tree struct{ source *source }

// Prove returns the proof that the record with the given leaf number is in the ledger. If there is
// no such record, the error wraps [ErrNoLeaf]. If the stored tree is damaged, the error wraps
// [ErrDamaged].
func (t Tree) Prove(ctx context.Context, leaf int64) (p Proof, err error) {
	err = t.source.view(ctx, func(conn *sqlite.Conn) error {
		p, err = prove(conn, leaf)
		return err
	})
	if err != nil {
		return Proof{}, fmt.Errorf("prove leaf %d: %w", leaf, err)
	}
	return p, nil
}

// Read calls the given function with the newest checkpoint and the hashes of the tree, both
// unchecked. The function must not use the ledger, because a transaction is open.
func (t Tree) Read(ctx context.Context, read func(signed []byte, hashes tlog.HashReader) error) error {
	return t.source.view(ctx, func(conn *sqlite.Conn) error {
		signed, err := NewestNote(conn)
		if err != nil {
			return err
		}
		return read(signed, StoredTree{conn})
	})
}

// Leaves returns the texts of up to count leaves. first is the number of the first leaf.
func (t Tree) Leaves(ctx context.Context, first int64, count int) (leaves [][]byte, err error) {
	err = t.source.view(ctx, func(conn *sqlite.Conn) error {
		leaves = leaves[:0]
		return leavesFrom(conn, first, count, func(_ int64, leaf []byte) error {
			leaves = append(leaves, leaf)
			return nil
		})
	})
	return leaves, err
}

func prove(conn *sqlite.Conn, leaf int64) (Proof, error) {
	signed, err := NewestNote(conn)
	if err != nil {
		return Proof{}, err
	}
	c, err := ReadCheckpoint(signed)
	if err != nil {
		return Proof{}, err
	}
	return proveBelow(conn, leaf, signed, c)
}

func proveBelow(conn *sqlite.Conn, leaf int64, signed []byte, c Checkpoint) (p Proof, err error) {
	p = Proof{Index: leaf, Checkpoint: signed}
	if p.Leaf, err = leafBytes(conn, leaf); err != nil {
		return Proof{}, err
	}
	if leaf < 0 || leaf >= c.Size {
		return Proof{}, fmt.Errorf("%w: the newest checkpoint signs %d leaves", ErrDamaged, c.Size)
	}
	if p.Path, err = tlog.ProveRecord(c.Size, leaf, StoredTree{conn}); err != nil {
		return Proof{}, err
	}
	if err := tlog.CheckRecord(p.Path, c.Size, c.Root, leaf, tlog.RecordHash(p.Leaf)); err != nil {
		return Proof{}, fmt.Errorf("%w: its hashes do not lead to the root", ErrDamaged)
	}
	return p, nil
}

// NewestNote returns the newest checkpoint as a signed note.
func NewestNote(conn *sqlite.Conn) (signed []byte, err error) {
	err = sqlitex.Execute(conn, "SELECT note FROM checkpoints ORDER BY checkpoint DESC LIMIT 1",
		&sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error { signed = sqlitetx.Bytes(stmt, 0); return nil }})
	return signed, err
}

func leafBytes(conn *sqlite.Conn, leaf int64) (data []byte, err error) {
	err = leavesFrom(conn, leaf, 1, func(_ int64, leaf []byte) error { data = leaf; return nil })
	if err == nil && data == nil {
		err = ErrNoLeaf
	}
	return data, err
}

func leavesFrom(conn *sqlite.Conn, first int64, count int, each func(number int64, leaf []byte) error) error {
	return sqlitex.Execute(conn, `SELECT l.leaf, l.class, l.id, coalesce(p.name, ''), l.sequence, coalesce(r.name, ''), l.kind,
		l.time, l.finding, l.hash FROM leaves l LEFT JOIN producers p ON p.producer = l.producer
		LEFT JOIN runs r ON r.run = l.run WHERE l.leaf >= ? AND l.leaf < ? ORDER BY l.leaf`,
		&sqlitex.ExecOptions{
			Args: []any{first, first + int64(count)},
			ResultFunc: func(stmt *sqlite.Stmt) error {
				var hash events.Hash
				if stmt.ColumnLen(9) != len(hash) {
					return fmt.Errorf("%w: leaf %d has no hash", ErrDamaged, stmt.ColumnInt64(0))
				}
				stmt.ColumnBytes(9, hash[:])
				f := LeafFields[string]{
					Class: stmt.ColumnText(1), ID: stmt.ColumnText(2), Producer: stmt.ColumnText(3),
					Sequence: uint64(stmt.ColumnInt64(4)), Run: stmt.ColumnText(5), Kind: stmt.ColumnText(6),
					Time: stmt.ColumnText(7), Finding: stmt.ColumnText(8),
				}
				return each(stmt.ColumnInt64(0), AppendLeaf(nil, f, hash[:]))
			},
		})
}

// HashesPerRow is the number of tree hashes in one row of the table hashes.
const HashesPerRow = 256

// StoredTree reads the hashes of the tree from the ledger file.
type StoredTree struct{ Conn *sqlite.Conn }

// ReadHashes implements [tlog.HashReader].
func (s StoredTree) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	hashes := make([]tlog.Hash, len(indexes))
	var row []byte
	have := int64(-1)
	for i, index := range indexes {
		if chunk := index / HashesPerRow; chunk != have {
			var err error
			if row, err = HashRow(s.Conn, chunk); err != nil {
				return nil, err
			}
			have = chunk
		}
		at := int(index % HashesPerRow * tlog.HashSize)
		if len(row) < at+tlog.HashSize {
			return nil, fmt.Errorf("%w: hashes are missing", ErrDamaged)
		}
		copy(hashes[i][:], row[at:])
	}
	return hashes, nil
}

// HashRow returns the hashes in the row with the number chunk of the table "hashes". It returns nil
// if this row is missing.
func HashRow(conn *sqlite.Conn, chunk int64) (row []byte, err error) {
	err = sqlitex.Execute(conn, "SELECT bytes FROM hashes WHERE chunk = ?", &sqlitex.ExecOptions{
		Args:       []any{chunk},
		ResultFunc: func(stmt *sqlite.Stmt) error { row = sqlitetx.Bytes(stmt, 0); return nil },
	})
	return row, err
}

// IsTreeOf reports whether the order was made for this ledger, so that its leaf numbers mean the
// same records here.
func IsTreeOf(conn *sqlite.Conn, o Order) (bool, error) {
	root, err := tlog.TreeHash(o.Size, StoredTree{conn})
	if errors.Is(err, ErrDamaged) {
		return false, nil
	}
	return err == nil && root == o.Root, err
}

// SignedTree returns the newest checkpoint like [Reader.Signed], and compares its root with the
// hashes in the ledger. If they differ, the error wraps [ErrDamaged].
func (t Tree) SignedTree(ctx context.Context) (signed []byte, c Checkpoint, err error) {
	err = t.Read(ctx, func(note []byte, stored tlog.HashReader) error {
		if c, err = ReadCheckpoint(note); err != nil {
			return err
		}
		root, err := tlog.TreeHash(c.Size, stored)
		if err != nil {
			return err
		}
		if root != c.Root {
			return fmt.Errorf("%w: the root differs from the signed one", ErrDamaged)
		}
		signed = note
		return nil
	})
	return signed, c, err
}

// RootAt computes the root of the first size leaves from the stored hashes.
func (t Tree) RootAt(ctx context.Context, size int64) (root tlog.Hash, err error) {
	err = t.Read(ctx, func(_ []byte, stored tlog.HashReader) error {
		root, err = tlog.TreeHash(size, stored)
		return err
	})
	return root, err
}

// Hashes returns stored hashes of the tree. indexes are storage indexes as in package tlog.
func (t Tree) Hashes(ctx context.Context, indexes []int64) (hashes []tlog.Hash, err error) {
	err = t.source.view(ctx, func(conn *sqlite.Conn) error {
		hashes, err = StoredTree{conn}.ReadHashes(indexes)
		return err
	})
	return hashes, err
}

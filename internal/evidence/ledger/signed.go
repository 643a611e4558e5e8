package ledger

import (
	"context"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"
	"zombiezen.com/go/sqlite"
)

// Signed returns the newest checkpoint as it was signed, and what it says. Its
// signature is unchecked.
func (r *Reader) Signed(ctx context.Context) (signed []byte, c Checkpoint, err error) {
	err = r.view(ctx, func(conn *sqlite.Conn) error {
		if signed, err = NewestNote(conn); err != nil {
			return err
		}
		c, err = ReadCheckpoint(signed)
		return err
	})
	return signed, c, err
}

// SignedTree returns what [Reader.Signed] does, and [ErrDamaged] unless the stored
// tree has the root that was signed.
func (r *Reader) SignedTree(ctx context.Context) (signed []byte, c Checkpoint, err error) {
	err = r.Tree(ctx, func(note []byte, stored tlog.HashReader) error {
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

// Hashes returns stored hashes of the tree, by their numbers as tlog counts them.
func (r *Reader) Hashes(ctx context.Context, indexes []int64) (hashes []tlog.Hash, err error) {
	err = r.view(ctx, func(conn *sqlite.Conn) error {
		hashes, err = StoredTree{conn}.ReadHashes(indexes)
		return err
	})
	return hashes, err
}

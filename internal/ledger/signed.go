package ledger

import (
	"context"

	"golang.org/x/mod/sumdb/tlog"
	"zombiezen.com/go/sqlite"
)

// Signed returns the newest checkpoint as it was signed, and what it says. Its
// signature is unchecked.
func (r *Reader) Signed(ctx context.Context) (signed []byte, c Checkpoint, err error) {
	err = r.view(ctx, func(conn *sqlite.Conn) error {
		if signed, err = newestNote(conn); err != nil {
			return err
		}
		c, err = ReadCheckpoint(signed)
		return err
	})
	return signed, c, err
}

// Hashes returns stored hashes of the tree, by their numbers as tlog counts them.
func (r *Reader) Hashes(ctx context.Context, indexes []int64) (hashes []tlog.Hash, err error) {
	err = r.view(ctx, func(conn *sqlite.Conn) error {
		hashes, err = storedTree{conn}.ReadHashes(indexes)
		return err
	})
	return hashes, err
}

package tiles

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/transparency"
)

var (
	errNoTile    = errors.New("the ledger has no such tile")
	errNotInTree = errors.New("it does not match the tree (run auditor verify)")
)

func readTile(ctx context.Context, r *ledger.Reader, t transparency.Tile) (data []byte, err error) {
	err = r.Tree().Read(ctx, func(signed []byte, stored tlog.HashReader) error {
		c, err := ledger.ReadCheckpoint(signed)
		if err != nil {
			return err
		}
		if !t.In(c.Size) {
			return errNoTile
		}
		data, err = t.Hashes(stored)
		return err
	})
	if err != nil || !t.Entries {
		return data, err
	}
	leaves, err := r.Tree().Leaves(ctx, t.First(), t.Width)
	if err != nil {
		return nil, err
	}
	for i, leaf := range leaves {
		if tlog.RecordHash(leaf) != tlog.Hash(data[i*tlog.HashSize:]) {
			return nil, &ledger.RecordError{Leaf: t.First() + int64(i), Err: errNotInTree}
		}
	}
	if len(leaves) != t.Width {
		return nil, fmt.Errorf("%w: leaf %d is missing", ledger.ErrDamaged, t.First()+int64(len(leaves)))
	}
	return transparency.EncodeEntries(leaves)
}

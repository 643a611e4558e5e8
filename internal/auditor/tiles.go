package auditor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/hooktrail/hooktrail/internal/c2sp"
	"github.com/hooktrail/hooktrail/internal/ledger"
)

// errNoTile is returned for a tile that the tree has not, or not yet.
var errNoTile = errors.New("the ledger has no such tile")

// readTile returns the content of a tile of the ledger, and fails rather than
// hand out entries that do not hash to the leaves of the tree.
func readTile(ctx context.Context, r *ledger.Reader, t c2sp.Tile) (data []byte, err error) {
	err = r.Tree(ctx, func(signed []byte, stored tlog.HashReader) error {
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
	leaves, err := r.Leaves(ctx, t.First(), t.Width)
	if err != nil {
		return nil, err
	}
	for i, leaf := range leaves {
		if tlog.RecordHash(leaf) != tlog.Hash(data[i*tlog.HashSize:]) {
			return nil, fmt.Errorf("%w: leaf %d is not what the tree has (auditor verify tells what is wrong)",
				ledger.ErrDamaged, t.First()+int64(i))
		}
	}
	if len(leaves) != t.Width {
		return nil, fmt.Errorf("%w: leaf %d is missing", ledger.ErrDamaged, t.First()+int64(len(leaves)))
	}
	return c2sp.EncodeEntries(leaves)
}

// newestSigned returns the newest checkpoint as it was signed, once the tree is
// what it says.
func newestSigned(ctx context.Context, r *ledger.Reader) (signed []byte, c ledger.Checkpoint, err error) {
	err = r.Tree(ctx, func(note []byte, stored tlog.HashReader) error {
		if c, err = ledger.ReadCheckpoint(note); err != nil {
			return err
		}
		root, err := tlog.TreeHash(c.Size, stored)
		if err != nil {
			return err
		}
		if root != c.Root {
			return fmt.Errorf("%w: the root differs from the signed one", ledger.ErrDamaged)
		}
		signed = note
		return nil
	})
	return signed, c, err
}

// ExportTiles writes the ledger into the folder dir, which it makes, as the static
// files of a C2SP tlog-tiles log: tiles of hashes and entries, and at last the
// checkpoint that they lead to, with the cosignatures of witnesses where they have
// cosigned that tree. It calls progress now and then with how many of
// how many files are written.
func ExportTiles(ctx context.Context, r *ledger.Reader, dir string, progress func(done, all int)) error {
	if entries, err := os.ReadDir(dir); err == nil && len(entries) > 0 {
		return fmt.Errorf("export tiles to %s: the folder is not empty", dir)
	}
	signed, c, err := newestSigned(ctx, r)
	if err != nil {
		return fmt.Errorf("export tiles: %w", err)
	}
	cosigned, then, err := r.Witnessed(ctx)
	if err != nil {
		return fmt.Errorf("export tiles: %w", err)
	}
	if cosigned != nil && then.Size == c.Size {
		signed = cosigned
	}
	tiles := c2sp.Tiles(c.Size)
	for i, t := range tiles {
		data, err := readTile(ctx, r, t)
		if err == nil {
			err = writeTile(filepath.Join(dir, filepath.FromSlash(t.Path())), data)
		}
		if err != nil {
			return fmt.Errorf("export %s: %w", t.Path(), err)
		}
		progress(i+1, len(tiles)+1)
	}
	if err := writeTile(filepath.Join(dir, c2sp.CheckpointPath), signed); err != nil {
		return fmt.Errorf("export checkpoint: %w", err)
	}
	progress(len(tiles)+1, len(tiles)+1)
	return nil
}

func writeTile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}

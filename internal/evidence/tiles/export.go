package tiles

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/transparency"
)

// Export writes a ledger to the empty or missing folder dir as static files of a C2SP tlog-tiles
// log. A folder with a checkpoint is complete. After an error, the files are removed. An altered
// record is a [ledger.RecordError]. progress gets the numbers of written and of all files.
func Export(ctx context.Context, r *ledger.Reader, dir string, progress func(done, all int)) error {
	entries, err := os.ReadDir(dir)
	switch {
	case err == nil && len(entries) > 0:
		return fmt.Errorf("export tiles to %s: the folder is not empty: choose another folder", dir)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("export tiles: %w", err)
	}
	wasThere := err == nil
	if err = export(ctx, r, dir, progress); err != nil {
		err = errors.Join(err, removeExport(dir, wasThere))
	}
	return err
}

func export(ctx context.Context, r *ledger.Reader, dir string, progress func(done, all int)) error {
	signed, c, err := r.Tree().SignedTree(ctx)
	if err != nil {
		return fmt.Errorf("export tiles: %w", err)
	}
	cosigned, then, err := r.Tree().Witnessed(ctx)
	if err != nil {
		return fmt.Errorf("export tiles: %w", err)
	}
	if cosigned != nil && then.Size == c.Size {
		signed = cosigned
	}
	tiles := transparency.Tiles(c.Size)
	for i, t := range tiles {
		data, err := readTile(ctx, r, t)
		if err == nil && t.Entries {
			err = checkRecords(ctx, r, t)
		}
		if err == nil {
			err = writeTile(filepath.Join(dir, filepath.FromSlash(t.Path())), data)
		}
		if err != nil {
			return fmt.Errorf("export %s: %w", t.Path(), err)
		}
		progress(i+1, len(tiles)+1)
	}
	if err := writeTile(filepath.Join(dir, transparency.CheckpointPath), signed); err != nil {
		return fmt.Errorf("export checkpoint: %w", err)
	}
	progress(len(tiles)+1, len(tiles)+1)
	return nil
}

func checkRecords(ctx context.Context, r *ledger.Reader, t transparency.Tile) error {
	last := t.First() + int64(t.Width) - 1
	for e, err := range r.After(ctx, t.First()-1) {
		if err != nil {
			return err
		}
		if e.Leaf >= last {
			break
		}
	}
	return nil
}

func removeExport(dir string, wasThere bool) error {
	if !wasThere {
		return os.RemoveAll(dir)
	}
	return errors.Join(os.RemoveAll(filepath.Join(dir, "tile")), os.RemoveAll(filepath.Join(dir, transparency.CheckpointPath)))
}

func writeTile(path string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return os.WriteFile(path, data, 0o600)
}

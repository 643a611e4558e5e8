package ledger

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/platform/atomicfile"
	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
)

// Copy writes a copy of the ledger in the file at path to out, which must not be
// there yet: in one file without a log, readable by its owner alone, its indexes
// made anew, and without what lay on free pages. It works beside a running writer,
// and is on disk when Copy returns; after an error there is none.
func Copy(ctx context.Context, path, out string) (err error) {
	r, err := OpenReader(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	made, err := os.OpenFile(out, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) // SQLite would make it readable for all
	if err != nil {
		return fmt.Errorf("copy ledger: %w", err)
	}
	defer func() {
		if err = errors.Join(err, made.Close()); err != nil {
			err = errors.Join(err, os.Remove(out))
		}
	}()
	if err := r.vacuum(ctx, out); err != nil {
		return fmt.Errorf("copy ledger %s: %w", path, Refusal(err))
	}
	return errors.Join(made.Sync(), atomicfile.SyncDir(filepath.Dir(out)))
}

func (r *Reader) vacuum(ctx context.Context, out string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	conn, err := r.file.Again()
	if err != nil {
		return err
	}
	conn.SetInterrupt(ctx.Done())
	err = sqlitetx.Exec(conn, "PRAGMA query_only=0") // of the copy, which it forbids too
	if err == nil {
		err = sqlitex.ExecuteTransient(conn, "VACUUM INTO ?", &sqlitex.ExecOptions{Args: []any{out}})
	}
	conn.SetInterrupt(nil)
	return errors.Join(err, conn.Close())
}

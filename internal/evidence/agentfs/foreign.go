package agentfs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// foreignCounts count what other tools wrote, in a file without anything of ours.
// Folders alone are none of theirs: ours stay when what lay in them goes.
var foreignCounts = []string{
	`SELECT count(*) FROM tool_calls`,
	`SELECT count(*) FROM kv_store`,
	`SELECT count(*) FROM fs_inode WHERE mode & 61440 <> 16384`,
}

// ErrWritten is wrapped by [Unwritten] when a file is not what it was.
var ErrWritten = errors.New("another tool wrote into it meanwhile")

// Mark tells what a file is from what it was: whoever writes into it changes it.
type Mark struct {
	bytes   int64
	written time.Time
}

// Foreign writes to out, which must not be there yet, what other tools wrote into
// the file at path, and nothing of the ledger's: what such a file is written anew
// from. It reports false, and leaves no file, when they wrote nothing. The file
// at path stays as it is; its mark is for [Unwritten]. It wraps [ErrBusy] when
// another process has that open for long.
func Foreign(ctx context.Context, path, out string) (kept bool, mark Mark, err error) {
	made, err := os.CreateTemp(filepath.Dir(out), ".agentfs-*") // mode 0600
	if err != nil {
		return false, mark, fmt.Errorf("make file: %w", err)
	}
	defer func() { err = errors.Join(err, made.Close(), removed(made.Name())) }()
	err = visit(ctx, path, leaveTimeout, func(f *file) (err error) {
		if mark, err = f.mark(path); err != nil {
			return err
		}
		return f.exec("VACUUM INTO ?", made.Name())
	})
	if err == nil {
		kept, err = strip(ctx, made.Name())
	}
	if err == nil && kept {
		err = made.Sync()
	}
	if err == nil && kept {
		err = os.Rename(made.Name(), out)
	}
	if err != nil {
		return false, mark, fmt.Errorf("take from %s what other tools wrote: %w", path, err)
	}
	return kept, mark, nil
}

// Unwritten returns an error that wraps [ErrWritten] if anybody wrote into the
// file at path since it had mark, and one that wraps [ErrBusy] if another process
// has it open for long.
func Unwritten(ctx context.Context, path string, mark Mark) error {
	err := visit(ctx, path, leaveTimeout, func(f *file) error {
		now, err := f.mark(path)
		if err == nil && (now.bytes != mark.bytes || !now.written.Equal(mark.written)) {
			err = ErrWritten
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// mark returns the mark of f at path, with all that its log has brought into it:
// closing it changes it no more.
func (f *file) mark(path string) (Mark, error) {
	if err := execute(f.conn, []string{"PRAGMA wal_checkpoint(TRUNCATE)"}); err != nil {
		return Mark{}, err
	}
	info, err := os.Stat(path)
	if err != nil {
		return Mark{}, err
	}
	return Mark{bytes: info.Size(), written: info.ModTime()}, nil
}

// strip removes what this package wrote from the file at path, the pages that it
// lay on too. It reports whether anything is left.
func strip(ctx context.Context, path string) (left bool, err error) {
	f, err := openFile(ctx, path)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, f.close()) }()
	if err := f.reset(); err != nil {
		return false, err
	}
	if err := f.commit(); err != nil {
		return false, err
	}
	for _, query := range foreignCounts {
		n, err := f.number(query)
		if err != nil {
			return false, err
		}
		left = left || n > 0
	}
	return left, f.compact()
}

// Routes returns where the file lies, below dir, that says which run of a tenant
// lies in which file.
func Routes(tenant string) string { return filepath.Join(".routes", escapeID(tenant)+".db") }

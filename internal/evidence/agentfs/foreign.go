package agentfs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"zombiezen.com/go/sqlite"
)

// foreignCounts count what other tools wrote, in a file without anything of ours.
// Folders alone are none of theirs: ours stay when what lay in them goes.
var foreignCounts = []string{
	`SELECT count(*) FROM tool_calls`,
	`SELECT count(*) FROM kv_store`,
	`SELECT count(*) FROM fs_inode WHERE mode & 61440 <> 16384`,
}

// ErrChanged is wrapped by [Unchanged] when a file is not what it was.
var ErrChanged = errors.New("another tool wrote into it meanwhile")

// Mark tells what a file is from what it was: whoever writes into it changes it.
type Mark struct {
	bytes   int64
	written time.Time
}

// Foreign writes to out, which must not be there yet, what other tools wrote into
// the file at path, and nothing of the ledger's: what such a file is written anew
// from. It reports false, and leaves no file, when they wrote nothing. The file
// at path stays as it is; its mark is for [Unchanged]. It wraps [ErrBusy] when
// another process has that open for long.
func Foreign(ctx context.Context, path, out string) (kept bool, mark Mark, err error) {
	made, err := os.CreateTemp(filepath.Dir(out), ".agentfs-*") // mode 0600
	if err != nil {
		return false, mark, fmt.Errorf("make file: %w", err)
	}
	defer func() { err = errors.Join(err, made.Close(), removed(made.Name())) }()
	err = read(ctx, path, leaveTimeout, func(r *reader) (err error) {
		if mark, err = markOf(r.conn, path); err != nil {
			return err
		}
		return execute(r.conn, "VACUUM INTO ?", made.Name())
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

// Unchanged returns an error that wraps [ErrChanged] if anybody wrote into the
// file at path since it had mark, and one that wraps [ErrBusy] if another process
// has it open for long.
func Unchanged(ctx context.Context, path string, mark Mark) error {
	err := read(ctx, path, leaveTimeout, func(r *reader) error {
		now, err := markOf(r.conn, path)
		if err == nil && (now.bytes != mark.bytes || !now.written.Equal(mark.written)) {
			err = ErrChanged
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
func markOf(conn *sqlite.Conn, path string) (Mark, error) {
	if err := executeAll(conn, []string{"PRAGMA wal_checkpoint(TRUNCATE)"}); err != nil {
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
		n, err := number(f.conn, query)
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

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

// foreignCounts are queries that count the rows and files of other tools. They run after reset,
// which removes all rows and files of this package, but no folders.
var foreignCounts = []string{
	`SELECT count(*) FROM tool_calls`,
	`SELECT count(*) FROM kv_store`,
	`SELECT count(*) FROM fs_inode WHERE mode & 61440 <> 16384`,
}

// ErrChanged means that a file changed after its [Mark] was read.
var ErrChanged = errors.New("another tool wrote to it in the meantime")

// A Mark identifies the version of a file by its size and modification time.
type Mark struct {
	bytes   int64
	written time.Time
}

// Foreign looks for rows and files of other tools in the AgentFS file at path, and copies them to
// the new file out. If there are none, Foreign returns false and creates no file. The error wraps
// [ErrBusy] if another process has the file at path open.
func Foreign(ctx context.Context, path, out string) (kept bool, mark Mark, err error) {
	made, err := os.CreateTemp(filepath.Dir(out), ".agentfs-*") // mode 0600
	if err != nil {
		return false, mark, fmt.Errorf("create file: %w", err)
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
		return false, mark, fmt.Errorf("copy rows of other tools from %s: %w", path, err)
	}
	return kept, mark, nil
}

// Unchanged returns an error that wraps [ErrChanged] if a process wrote to the file after
// [Foreign] had returned mark. The error wraps [ErrBusy] if another process has the file open.
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

// markOf first writes SQLite's log into the file. Otherwise, closing the file would do so, and
// change the size and time in the mark.
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

// Routes returns the path of the tenant's routing database. It maps the id of a run to the AgentFS
// file with this run.
func Routes(tenant string) string { return filepath.Join(".routes", escapeID(tenant)+".db") }

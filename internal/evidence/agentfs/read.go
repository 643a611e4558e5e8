package agentfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// ErrErased is wrapped by [Copy] when a file still has what an order destroyed in
// the ledger.
var ErrErased = errors.New("file still has what was erased")

// leaveTimeout is how long a reader waits for a file: longer than one commit of
// the writer.
const leaveTimeout = 10 * time.Second

// lookTimeout is how long one waits who only looks, at many files perhaps.
const lookTimeout = 2 * time.Second

// File is an AgentFS file of a folder.
type File struct {
	Name  string // of the file
	Agent string // whose it is; of a long id the start, and "…"
	Part  int    // which one of the agent's files, from 1
	Bytes int64
}

// ID returns the id by which AgentFS tools open the file.
func (f File) ID() string { return strings.TrimSuffix(f.Name, ".db") }

// List returns the AgentFS files of a tenant in dir, by agent and part. A folder
// that is not there has none.
func List(dir, tenant string) ([]File, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list agentfs files: %w", err)
	}
	var files []File
	for _, entry := range entries {
		n := parseName(entry.Name())
		if n.part == 0 || n.tenant != escapeID(tenant) || !entry.Type().IsRegular() {
			continue
		}
		info, err := entry.Info()
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list agentfs files: %w", err)
		}
		files = append(files, File{Name: entry.Name(), Agent: unescapeID(n.agent), Part: n.part, Bytes: info.Size()})
	}
	slices.SortFunc(files, func(a, b File) int {
		x, y := parseName(a.Name), parseName(b.Name)
		return 2*strings.Compare(x.agent, y.agent) + min(max(x.part-y.part, -1), 1)
	})
	return files, nil
}

// Contents is what a file holds.
type Contents struct {
	Calls int64 // rows of tool_calls, those of other tools too
	Ours  int64 // of them, those of the ledger
	Leaf  int64 // the last leaf that is in it; -1 is none

	HasRun bool // it has rows of the run that was asked for
}

// Look returns what the file at path holds, and whether it is that of run, if one
// is named. It wraps [ErrBusy] when another process keeps it open.
func Look(ctx context.Context, path, run string) (Contents, error) {
	c := Contents{Leaf: -1}
	err := visit(ctx, path, lookTimeout, func(f *file) (err error) {
		if made, err := f.number(`SELECT count(*) FROM sqlite_schema WHERE name = 'tool_calls'`); err != nil || made == 0 {
			return err
		}
		if c.Calls, err = f.number(`SELECT count(*) FROM tool_calls`); err != nil || f.foreign {
			return err
		}
		if c.Ours, err = f.number(`SELECT count(*) FROM hooktrail_rows`); err != nil {
			return err
		}
		if c.Leaf, err = loadNumber(f.conn, "hooktrail_state", "position"); err != nil || run == "" {
			return err
		}
		for _, what := range rowKinds {
			from, to := prefixed(rowKey(what, run, ""))
			n, err := f.number(`SELECT count(*) FROM hooktrail_rows WHERE key >= ? AND key < ?`, from, to)
			if err != nil {
				return err
			}
			c.HasRun = c.HasRun || n > 0
		}
		return nil
	})
	return c, err
}

// Copy writes a copy of the file at path to out, which must not be there yet: one
// that readers may keep open without being in the writer's way, in one file
// without a log, readable by its owner alone. It is whole or not there at all. A
// file that still has what an order in src destroyed is not copied: that wraps
// [ErrErased]; one that another process has open for long wraps [ErrBusy].
func Copy(ctx context.Context, path, out string, src Source) (err error) {
	if _, err := os.Lstat(out); err == nil {
		return fmt.Errorf("%s is there already: name another file, or take it away", out)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	made, err := os.CreateTemp(filepath.Dir(out), ".agentfs-*") // mode 0600
	if err != nil {
		return fmt.Errorf("make file: %w", err)
	}
	defer func() { err = errors.Join(err, made.Close(), removed(made.Name())) }()
	err = visit(ctx, path, leaveTimeout, func(f *file) error {
		if disobeys, err := f.disobeys(ctx, src); err != nil {
			return err
		} else if disobeys {
			return fmt.Errorf("%w: the auditor takes it out as soon as it runs and no other process has the file", ErrErased)
		}
		return f.exec("VACUUM INTO ?", made.Name())
	})
	if err == nil {
		err = made.Sync()
	}
	if err == nil {
		err = os.Rename(made.Name(), out)
	}
	if err != nil {
		return fmt.Errorf("copy %s: %w", path, err)
	}
	return nil
}

// removed removes a file that may be gone already.
func removed(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Disobedient returns the names of a tenant's files in dir that still have what
// orders in src destroyed. Of files that another process has open it cannot know:
// the error wraps [ErrBusy] and names them.
func Disobedient(ctx context.Context, dir, tenant string, src Source) ([]string, error) {
	files, err := List(dir, tenant)
	if err != nil {
		return nil, err
	}
	var names []string
	var errs []error
	for _, entry := range files {
		var disobeys bool
		if err := visit(ctx, filepath.Join(dir, entry.Name), 10*busyTimeout, func(f *file) (err error) {
			disobeys, err = f.disobeys(ctx, src)
			return err
		}); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("%s: %w", entry.Name, err))
		}
		if disobeys {
			names = append(names, entry.Name)
		}
	}
	return names, errors.Join(errs...)
}

// visit opens the file at path for read, and closes it. A file that is in use is
// waited for as long as patience says.
func visit(ctx context.Context, path string, patience time.Duration, read func(*file) error) (err error) {
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		return err
	}
	defer func() { err = withheld(path, unreadable(busy(errors.Join(err, conn.Close())))) }()
	conn.SetInterrupt(ctx.Done())
	defer conn.SetInterrupt(nil)
	conn.SetBusyTimeout(patience)
	// Without a file of shared memory beside it, which the clients' engine does not know.
	if err := execute(conn, []string{"PRAGMA locking_mode = exclusive"}); err != nil {
		return err
	}
	f := &file{conn: conn, orders: -1}
	ours, err := f.number(`SELECT count(*) FROM sqlite_schema WHERE name = 'hooktrail_state'`)
	if err != nil {
		return err
	}
	if f.foreign = ours == 0; !f.foreign {
		if f.orders, err = loadNumber(conn, "hooktrail_state", "orders"); err != nil {
			return err
		}
	}
	return read(f)
}

// withheld returns that the file at path may not be written, where err comes of
// that: who reads it locks it, and SQLite only says that it cannot.
func withheld(path string, err error) error {
	switch sqlite.ErrCode(err).ToPrimary() { //nolint:exhaustive // the others tell enough
	case sqlite.ResultIOErr, sqlite.ResultReadOnly, sqlite.ResultCantOpen, sqlite.ResultPerm:
		f, denied := os.OpenFile(path, os.O_RDWR, 0)
		if denied != nil {
			return denied
		}
		return errors.Join(err, f.Close())
	default:
		return err
	}
}

// disobeys reports whether f still has what an order destroyed.
func (f *file) disobeys(ctx context.Context, src Source) (bool, error) {
	if f.foreign {
		return false, nil
	}
	for e, err := range src.Erased(ctx, f.orders) {
		if err != nil {
			return false, fmt.Errorf("read orders: %w", err)
		}
		if has, err := f.hasBefore(e); err != nil || has {
			return has, err
		}
	}
	return false, nil
}

// hasBefore reports whether f has anything of a run from before an order: rows,
// whose ids tell their leaves, or files without any row.
func (f *file) hasBefore(e Erasure) (bool, error) {
	rows, old := int64(0), int64(0)
	for _, what := range rowKinds {
		from, to := prefixed(rowKey(what, e.Run, ""))
		err := sqlitex.Execute(f.conn, `SELECT count(*), coalesce(sum(id < ?), 0) FROM hooktrail_rows WHERE key >= ? AND key < ?`,
			&sqlitex.ExecOptions{
				Args: []any{(e.Order + 1) * idsPerLeaf, from, to},
				ResultFunc: func(stmt *sqlite.Stmt) error {
					rows, old = rows+stmt.ColumnInt64(0), old+stmt.ColumnInt64(1)
					return nil
				},
			})
		if err != nil {
			return false, fmt.Errorf("look up run: %w", err)
		}
	}
	if rows > 0 {
		return old > 0, nil
	}
	from, to := prefixed(runPath(e.Run) + "/")
	n, err := f.number(`SELECT count(*) FROM hooktrail_files WHERE path >= ? AND path < ?`, from, to)
	return n > 0, err
}

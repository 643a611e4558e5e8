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

// ErrErased means that an AgentFS file still contains data that an order has erased from the
// ledger.
var ErrErased = errors.New("file still has erased data")

const leaveTimeout = 10 * time.Second

const lookTimeout = 2 * time.Second

// A File is an AgentFS file that the auditor writes for an agent.
type File struct {
	Name  string
	Agent string // agent id; a shortened id ends with "…"
	Part  int    // number among the agent's files, from 1
	Bytes int64
}

// ID returns the id by which AgentFS tools open the file.
func (f File) ID() string { return strings.TrimSuffix(f.Name, ".db") }

// List returns the AgentFS files of a tenant in dir, sorted by agent and part.
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

// Contents describes the contents of a file.
type Contents struct {
	Calls int64 // rows in tool_calls
	Ours  int64 // rows in tool_calls that come from the ledger
	Leaf  int64 // last applied leaf, or -1

	HasRun bool // the file has rows of the given run
}

// Inspect describes the file at path, and looks for rows of run. Errors wrap [ErrBusy] if another
// process has the file open.
func Inspect(ctx context.Context, path, run string) (Contents, error) {
	c := Contents{Leaf: -1}
	err := read(ctx, path, lookTimeout, func(r *reader) (err error) {
		if made, err := number(r.conn, `SELECT count(*) FROM sqlite_schema WHERE name = 'tool_calls'`); err != nil || made == 0 {
			return err
		}
		if c.Calls, err = number(r.conn, `SELECT count(*) FROM tool_calls`); err != nil || r.foreign {
			return err
		}
		if c.Ours, err = number(r.conn, `SELECT count(*) FROM hooktrail_rows`); err != nil {
			return err
		}
		if c.Leaf, err = loadNumber(r.conn, "hooktrail_state", "position"); err != nil || run == "" {
			return err
		}
		for _, kind := range rowKinds {
			from, to := prefixed(rowKey(kind, run, ""))
			n, err := number(r.conn, `SELECT count(*) FROM hooktrail_rows WHERE key >= ? AND key < ?`, from, to)
			if err != nil {
				return err
			}
			c.HasRun = c.HasRun || n > 0
		}
		return nil
	})
	return c, err
}

// Copy copies the file at path to a new file out that only its owner can read. A failed Copy leaves
// no file. Errors wrap [ErrErased] if the file still has erased data, and [ErrBusy] if another
// process has it open.
func Copy(ctx context.Context, path, out string, src Source) (err error) {
	if _, err := os.Lstat(out); err == nil {
		return fmt.Errorf("%s exists: choose another file or remove it", out)
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	made, err := os.CreateTemp(filepath.Dir(out), ".agentfs-*") // mode 0600
	if err != nil {
		return fmt.Errorf("create file: %w", err)
	}
	defer func() { err = errors.Join(err, made.Close(), removed(made.Name())) }()
	err = read(ctx, path, leaveTimeout, func(r *reader) error {
		if erased, err := r.hasErased(ctx, src); err != nil {
			return err
		} else if erased {
			return fmt.Errorf("%w: the auditor erases it when it runs and no other process has the file open", ErrErased)
		}
		return execute(r.conn, "VACUUM INTO ?", made.Name())
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

func removed(path string) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// Unerased returns the names of a tenant's files in dir that still have erased data. For files that
// are in use, the error wraps [ErrBusy].
func Unerased(ctx context.Context, dir, tenant string, src Source) ([]string, error) {
	files, err := List(dir, tenant)
	if err != nil {
		return nil, err
	}
	var names []string
	var errs []error
	for _, entry := range files {
		var erased bool
		if err := read(ctx, filepath.Join(dir, entry.Name), 10*busyTimeout, func(r *reader) (err error) {
			erased, err = r.hasErased(ctx, src)
			return err
		}); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, fmt.Errorf("%s: %w", entry.Name, err))
		}
		if erased {
			names = append(names, entry.Name)
		}
	}
	return names, errors.Join(errs...)
}

type reader struct {
	conn    *sqlite.Conn
	orders  int64 // last applied erasure order, or -1
	foreign bool  // this package did not write the file
}

func read(ctx context.Context, path string, patience time.Duration, fn func(*reader) error) (err error) {
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		return err
	}
	defer func() { err = notWritable(path, unreadable(busy(errors.Join(err, conn.Close())))) }()
	conn.SetInterrupt(ctx.Done())
	defer conn.SetInterrupt(nil)
	conn.SetBusyTimeout(patience)
	if err := executeAll(conn, []string{"PRAGMA locking_mode = exclusive"}); err != nil {
		return err
	}
	r := &reader{conn: conn, orders: -1}
	ours, err := number(conn, `SELECT count(*) FROM sqlite_schema WHERE name = 'hooktrail_state'`)
	if err != nil {
		return err
	}
	if r.foreign = ours == 0; !r.foreign {
		if r.orders, err = loadNumber(conn, "hooktrail_state", "orders"); err != nil {
			return err
		}
	}
	return fn(r)
}

// notWritable replaces SQLite's vague error by the operating system's if the process may not write
// the file. Even readers need write access, because they lock the file.
func notWritable(path string, err error) error {
	switch sqlite.ErrCode(err).ToPrimary() { //nolint:exhaustive // other errors are clear
	case sqlite.ResultIOErr, sqlite.ResultReadOnly, sqlite.ResultCantOpen, sqlite.ResultPerm:
		f, denied := os.OpenFile(path, os.O_RDWR, 0)
		if denied != nil {
			return fmt.Errorf("%w: readers lock the file, so run this as a user who may write it, or copy the file", denied)
		}
		return errors.Join(err, f.Close())
	default:
		return err
	}
}

func (r *reader) hasErased(ctx context.Context, src Source) (bool, error) {
	if r.foreign {
		return false, nil
	}
	for e, err := range src.Erased(ctx, r.orders) {
		if err != nil {
			return false, fmt.Errorf("read orders: %w", err)
		}
		if has, err := r.hasBefore(e); err != nil || has {
			return has, err
		}
	}
	return false, nil
}

func (r *reader) hasBefore(e Erasure) (bool, error) {
	rows, old := int64(0), int64(0)
	for _, kind := range rowKinds {
		from, to := prefixed(rowKey(kind, e.Run, ""))
		err := sqlitex.Execute(r.conn, `SELECT count(*), coalesce(sum(id < ?), 0) FROM hooktrail_rows WHERE key >= ? AND key < ?`,
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
	n, err := number(r.conn, `SELECT count(*) FROM hooktrail_files WHERE path >= ? AND path < ?`, from, to)
	return n > 0, err
}

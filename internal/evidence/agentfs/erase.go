package agentfs

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// heed notes which files the orders concern that were read since the last call.
func (s *session) heed(ctx context.Context) error {
	r := s.tenant.routes
	last := r.orders
	for e, err := range s.src.Erased(ctx, r.orders) {
		if err != nil {
			return fmt.Errorf("read orders: %w", err)
		}
		if e.Order > r.pos.leaf {
			break // it came meanwhile: its runs may not be routed yet
		}
		last = e.Order
		name, ok, err := r.find(e.Run)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		v, err := r.volume(name)
		if err != nil {
			return err
		}
		if v.last >= 0 {
			v.order = max(v.order, e.Order)
		}
	}
	r.orders = last
	return r.commit()
}

// obey commits f without anything that it was emptied of, or that the orders up to
// v's last one destroyed. The runs that they concern are written anew from what the ledger still has, and
// then the whole file is: no free page, nor the log, keeps what was there. Only
// then does the file say that it has obeyed; a crash before repeats it.
func (s *session) obey(ctx context.Context, f *file, v *volume) error {
	runs, err := s.concerned(ctx, f.orders, v)
	if err != nil {
		return err
	}
	for _, run := range runs {
		if err := s.redo(ctx, f, run); err != nil {
			return err
		}
	}
	if err := f.commit(); err != nil {
		return err
	}
	if err := f.compact(); err != nil {
		return fmt.Errorf("write file anew: %w", err)
	}
	if v.order < 0 {
		return nil
	}
	if err := execute(f.conn, []string{"BEGIN IMMEDIATE"}); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	f.orders = max(f.orders, v.order)
	if err := saveNumber(f.conn, "hooktrail_state", "orders", f.orders); err != nil {
		return err
	}
	s.opts.Logger.InfoContext(ctx, "agentfs file cleaned of what was erased", "file", v.name, "runs", len(runs), "order", v.order)
	return f.commit()
}

// concerned returns the runs in v that orders behind after destroyed something of.
func (s *session) concerned(ctx context.Context, after int64, v *volume) ([]string, error) {
	var runs []string
	for e, err := range s.src.Erased(ctx, after) {
		if err != nil {
			return nil, fmt.Errorf("read orders: %w", err)
		}
		if e.Order > v.order {
			break
		}
		name, ok, err := s.tenant.routes.find(e.Run)
		if err != nil {
			return nil, err
		}
		if ok && name == v.name {
			runs = append(runs, e.Run)
		}
	}
	slices.Sort(runs)
	return slices.Compact(runs), nil
}

// redo writes a run anew, as far as f has come.
func (s *session) redo(ctx context.Context, f *file, run string) error {
	if err := f.removeRun(run); err != nil {
		return err
	}
	for entry, err := range s.src.Run(ctx, run) {
		if err != nil {
			return fmt.Errorf("read ledger: %w", err)
		}
		if entry.Leaf > f.pos.leaf {
			break
		}
		e, ok := s.decode(ctx, entry)
		if !ok || !isProjected(e) {
			continue
		}
		f.leaf = entry.Leaf
		if err := f.project(e); err != nil {
			return fmt.Errorf("leaf %d: %w", f.leaf, err)
		}
	}
	return nil
}

// removeRun removes all that this package wrote of a run.
func (f *file) removeRun(run string) error {
	for _, what := range rowKinds {
		from, to := prefixed(rowKey(what, run, ""))
		for _, query := range []string{
			`DELETE FROM tool_calls WHERE id IN (SELECT id FROM hooktrail_rows WHERE key >= ? AND key < ?)`,
			`DELETE FROM hooktrail_rows WHERE key >= ? AND key < ?`,
		} {
			if err := f.exec(query, from, to); err != nil {
				return fmt.Errorf("remove rows: %w", err)
			}
		}
	}
	for _, what := range []string{"runs:", "steps:"} {
		from, to := prefixed(what + keyPart(run) + ":")
		for _, query := range []string{
			`DELETE FROM kv_store WHERE key IN (SELECT key FROM hooktrail_keys WHERE key >= ? AND key < ?)`,
			`DELETE FROM hooktrail_keys WHERE key >= ? AND key < ?`,
		} {
			if err := f.exec(query, from, to); err != nil {
				return fmt.Errorf("remove values: %w", err)
			}
		}
	}
	return f.removeFolder(runPath(run))
}

// prefixed returns the range of the strings that begin with prefix, which ends
// in a byte below 0xff.
func prefixed(prefix string) (from, to string) {
	last := len(prefix) - 1
	return prefix, prefix[:last] + string(prefix[last]+1)
}

// removeFolder removes our files below a folder, and the folders that are empty
// then. Content to which somebody else gave a second name is emptied.
func (f *file) removeFolder(folder string) error {
	from, to := prefixed(folder + "/")
	paths, err := f.texts(`SELECT path FROM hooktrail_files WHERE path >= ? AND path < ? ORDER BY path`, from, to)
	if err != nil {
		return err
	}
	folders := map[string]bool{}
	for _, path := range paths {
		if err := f.remove(path); err != nil {
			return err
		}
		for parent := parentOf(path); len(parent) >= len(folder); parent = parentOf(parent) {
			folders[parent] = true
		}
	}
	if err := f.exec(`DELETE FROM hooktrail_files WHERE path >= ? AND path < ?`, from, to); err != nil {
		return fmt.Errorf("remove files: %w", err)
	}
	return f.removeEmpty(folders)
}

// removeEmpty removes those of the folders that hold nothing, the innermost
// first.
func (f *file) removeEmpty(folders map[string]bool) error {
	names := make([]string, 0, len(folders))
	for name := range folders {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return len(b) - len(a) })
	for _, name := range names {
		ino, ok, err := f.lookup(name)
		if err != nil {
			return err
		}
		if !ok {
			continue
		}
		if inside, err := f.number(`SELECT count(*) FROM fs_dentry WHERE parent_ino = ?`, ino); err != nil {
			return err
		} else if inside == 0 {
			if err := f.unlink(name); err != nil {
				return err
			}
		}
	}
	return nil
}

func parentOf(path string) string { return path[:max(strings.LastIndexByte(path, '/'), 0)] }

// compact writes the whole of a file anew, into no more pages than it needs, and
// empties its log. The copy lies beside the file meanwhile, not in /tmp, which
// containers may not write to.
func (f *file) compact() error {
	paths, err := f.texts("SELECT file FROM pragma_database_list WHERE name = 'main'")
	if err != nil || len(paths) != 1 {
		return errors.Join(err, errors.New("its path is not known"))
	}
	folder := strings.ReplaceAll(filepath.Dir(paths[0]), "'", "''")
	if err := execute(f.conn, []string{"PRAGMA temp_store_directory='" + folder + "'", "VACUUM"}); err != nil {
		return err
	}
	left, err := number(f.conn, "PRAGMA wal_checkpoint(TRUNCATE)")
	if err == nil && left != 0 {
		err = errors.New("its log cannot be emptied")
	}
	return err
}

// texts returns the first column of all rows of a query.
func (f *file) texts(query string, args ...any) (all []string, err error) {
	err = sqlitex.Execute(f.conn, query, &sqlitex.ExecOptions{
		Args:       args,
		ResultFunc: func(stmt *sqlite.Stmt) error { all = append(all, stmt.ColumnText(0)); return nil },
	})
	if err != nil {
		return nil, fmt.Errorf("list: %w", err)
	}
	return all, nil
}

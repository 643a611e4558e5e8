package beads

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/platform/atomicfile"
)

// A file that cannot be read may be one that somebody is writing: it is left
// alone until it was as it is for this long.
const restless = 2 * time.Second

// Export brings the files of all workspaces up to what was flushed. A crash
// leaves each as it was or as it is to be. One that cannot be written keeps no
// other from it.
//
// What people changed in a file is taken in before, and is in the new one; issues
// that are not the tracker's stay as they are. A file with a line that cannot be
// read is first copied to one beside it whose name begins with
// issues.jsonl.rejected-, and its place is told to the log.
func (s *Store) Export(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, tenant := range slices.Sorted(maps.Keys(s.stale)) {
		if err := ctx.Err(); err != nil {
			errs = append(errs, err)
			break
		}
		done, err := s.export(ctx, tenant)
		if err != nil {
			errs = append(errs, err)
		} else if done {
			delete(s.stale, tenant)
		}
	}
	if len(errs) > 0 {
		return fmt.Errorf("export issues: %w: %w", ErrTransient, errors.Join(errs...))
	}
	return nil
}

// export writes the file of tenant. It returns false if that has to wait.
func (s *Store) export(ctx context.Context, tenant string) (done bool, err error) {
	path, err := File(s.dir, tenant)
	if err != nil {
		return false, err
	}
	if err := makeFolder(filepath.Dir(path)); err != nil {
		return false, err
	}
	for range 3 {
		f, err := s.scan(ctx, tenant)
		if err != nil {
			return false, err
		}
		if f.problem != nil {
			if time.Since(time.Unix(0, f.stamp.changed)) < restless {
				return false, nil
			}
			if err := s.putAside(ctx, f); err != nil {
				return false, err
			}
		}
		if done, err := s.replace(ctx, tenant, f); done || err != nil {
			return done, err
		}
	}
	return false, nil // somebody writes all the time
}

// replace writes the file of tenant anew, unless it is not f any more.
func (s *Store) replace(ctx context.Context, tenant string, f *file) (done bool, err error) {
	content, erased, err := s.compose(ctx, tenant, f)
	if err != nil {
		return false, err
	}
	if err := scrubAside(f.path, erased); err != nil {
		return false, err
	}
	if f.sum == sha256.Sum256(content) && f.stamp.exists {
		return true, s.written(ctx, tenant)
	}
	next := f.path + ".tmp"
	if err := s.announce(ctx, tenant, next, content); err != nil {
		return false, err
	}
	if now, err := stampOf(f.path); err != nil || now != f.stamp {
		if err := errors.Join(err, s.exec(ctx, "UPDATE bead SET writing = '' WHERE tenant = ?", tenant)); err != nil {
			return false, err
		}
		return false, os.Remove(next) // not before: what it says must be true
	}
	// What the file is like is asked before others can reach it: what they do to it
	// from then on is theirs.
	ours, err := stampOf(next)
	if err != nil {
		return false, err
	}
	f.resolved = false
	if err := errors.Join(os.Rename(next, f.path), atomicfile.SyncDir(filepath.Dir(f.path))); err != nil {
		return false, err
	}
	if err := s.written(ctx, tenant); err != nil {
		return false, err
	}
	f.resolved, f.sum, f.problem, f.stamp = true, sha256.Sum256(content), nil, ours
	return true, nil
}

// announce writes the file that is to replace that of tenant, and notes what is
// in it. From then on it says, as long as it is there, that it did not yet.
func (s *Store) announce(ctx context.Context, tenant, next string, content []byte) error {
	if err := writeFile(next, content); err != nil {
		return errors.Join(err, os.Remove(next))
	}
	if err := atomicfile.SyncDir(filepath.Dir(next)); err != nil {
		return err
	}
	return s.exec(ctx, "UPDATE bead SET writing = record WHERE tenant = ? AND written <> record", tenant)
}

// compose returns what is to be in the file of tenant, and which issues were
// erased since it was written.
func (s *Store) compose(ctx context.Context, tenant string, f *file) (content []byte, erased []string, err error) {
	lines := slices.Clone(f.foreign)
	err = s.db.Tx(ctx, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(conn, "SELECT id, record, marks FROM bead WHERE tenant = ?", &sqlitex.ExecOptions{
			Args: []any{tenant},
			ResultFunc: func(stmt *sqlite.Stmt) error {
				lines = append(lines, foreign{stmt.ColumnText(0), []byte(stmt.ColumnText(1))})
				if marks(stmt.ColumnInt64(2))&markErased != 0 {
					erased = append(erased, stmt.ColumnText(0))
				}
				return nil
			},
		})
	})
	slices.SortStableFunc(lines, func(a, b foreign) int {
		switch {
		case a.id == "" || b.id == "": // what is no issue comes last
			return strings.Compare(b.id, a.id)
		default:
			return strings.Compare(a.id, b.id)
		}
	})
	for _, l := range lines {
		content = append(append(content, l.line...), '\n')
	}
	return content, erased, err
}

// written notes that the file of tenant has all of its issues as they are.
func (s *Store) written(ctx context.Context, tenant string) error {
	return s.exec(ctx, "UPDATE bead SET written = record, writing = '', marks = marks & ~? WHERE tenant = ? AND (written <> record OR writing <> '' OR marks & ?)",
		int64(markErased|markDirty), tenant, int64(markErased|markDirty))
}

func (s *Store) exec(ctx context.Context, query string, args ...any) error {
	return s.db.Tx(ctx, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(conn, query, &sqlitex.ExecOptions{Args: args})
	})
}

// resolve finds out what came of an export that was interrupted.
func (s *Store) resolve(ctx context.Context, tenant string, f *file) error {
	if f.resolved {
		return nil
	}
	_, err := os.Stat(f.path + ".tmp")
	switch {
	case err == nil: // it was not renamed
		err = s.exec(ctx, "UPDATE bead SET writing = '' WHERE tenant = ? AND writing <> ''", tenant)
	case errors.Is(err, fs.ErrNotExist):
		err = s.exec(ctx, "UPDATE bead SET written = writing, writing = '' WHERE tenant = ? AND writing <> ''", tenant)
	}
	f.resolved = err == nil
	return err
}

// putAside copies a file that cannot be read.
func (s *Store) putAside(ctx context.Context, f *file) error {
	content, err := os.ReadFile(f.path)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(content)
	aside := f.path + ".rejected-" + hex.EncodeToString(sum[:6])
	if err := atomicfile.Write(aside, content); err != nil {
		return err
	}
	s.logger.WarnContext(ctx, "issues could not be read and were put aside", "at", f.problem.Error(), "aside", aside)
	return nil
}

// scrubAside takes out of the files that were put aside what may be of erased
// issues: lines that name them, and lines that nobody can read.
func scrubAside(path string, erased []string) error {
	if len(erased) == 0 {
		return nil
	}
	names, err := filepath.Glob(globEscape(path) + ".rejected-*")
	if err != nil {
		return err
	}
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		var kept []byte
		for text := range bytes.Lines(content) {
			_, err := lineID(text)
			named := slices.ContainsFunc(erased, func(id string) bool { return bytes.Contains(text, []byte(id)) })
			if err == nil && !named {
				kept = append(kept, text...)
			}
		}
		if err := atomicfile.Write(name, kept); err != nil {
			return err
		}
	}
	return nil
}

func globEscape(path string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(path)
}

// makeFolder makes dir and the folders above it, and their entries durable.
func makeFolder(dir string) error {
	var made []string
	for d := dir; ; d = filepath.Dir(d) {
		if _, err := os.Stat(d); err == nil || d == filepath.Dir(d) {
			break
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		made = append(made, filepath.Dir(d))
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, parent := range slices.Backward(made) {
		if err := atomicfile.SyncDir(parent); err != nil {
			return err
		}
	}
	return nil
}

func writeFile(path string, content []byte) (err error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if _, err := f.Write(content); err != nil {
		return err
	}
	return f.Sync()
}

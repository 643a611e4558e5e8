package beads

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/platform/atomicfile"
)

const quietTime = 2 * time.Second

func (f *file) export(ctx context.Context) (done bool, err error) {
	if err := makeFolder(filepath.Dir(f.path)); err != nil {
		return false, err
	}
	for range 3 {
		if err := f.scan(ctx); err != nil {
			return false, err
		}
		if f.problem != nil {
			if time.Since(time.Unix(0, f.stamp.changed)) < quietTime {
				return false, nil
			}
			if err := f.quarantine(ctx); err != nil {
				return false, err
			}
		}
		if done, err := f.replace(ctx); done || err != nil {
			return done, err
		}
	}
	return false, nil // another program keeps writing
}

func (f *file) replace(ctx context.Context) (done bool, err error) {
	content, erased, err := f.compose(ctx)
	if err != nil {
		return false, err
	}
	if err := scrubQuarantine(f.path, erased); err != nil {
		return false, err
	}
	if f.sum == sha256.Sum256(content) && f.stamp.exists {
		return true, f.markWritten(ctx)
	}
	next := f.path + ".tmp"
	if err := f.prepare(ctx, next, content); err != nil {
		return false, err
	}
	if now, err := stampOf(f.path); err != nil || now != f.stamp {
		if err := errors.Join(err, f.table.exec(ctx, "UPDATE bead SET writing = '' WHERE tenant = ?", f.tenant)); err != nil {
			return false, err
		}
		// Remove this file last. As long as it exists, resolve knows that the issues file has not
		// been replaced.
		return false, os.Remove(next)
	}
	// Read the size and time before the rename, so that each later change of the file counts as a
	// person's edit.
	ours, err := stampOf(next)
	if err != nil {
		return false, err
	}
	f.resolved = false
	if err := errors.Join(os.Rename(next, f.path), atomicfile.SyncDir(filepath.Dir(f.path))); err != nil {
		return false, err
	}
	if err := f.markWritten(ctx); err != nil {
		return false, err
	}
	f.resolved, f.sum, f.problem, f.stamp = true, sha256.Sum256(content), nil, ours
	return true, nil
}

func (f *file) prepare(ctx context.Context, next string, content []byte) error {
	if err := writeFile(next, content); err != nil {
		return errors.Join(err, os.Remove(next))
	}
	if err := atomicfile.SyncDir(filepath.Dir(next)); err != nil {
		return err
	}
	return f.table.exec(ctx, "UPDATE bead SET writing = record WHERE tenant = ? AND written <> record", f.tenant)
}

func (f *file) compose(ctx context.Context) (content []byte, erased []string, err error) {
	lines := slices.Clone(f.foreign)
	err = f.table.db.Tx(ctx, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(conn, "SELECT id, record, marks FROM bead WHERE tenant = ?", &sqlitex.ExecOptions{
			Args: []any{f.tenant},
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
		if a.id == "" || b.id == "" { // lines without an id come last
			return strings.Compare(b.id, a.id)
		}
		return strings.Compare(a.id, b.id)
	})
	for _, l := range lines {
		content = append(append(content, l.line...), '\n')
	}
	return content, erased, err
}

func (f *file) markWritten(ctx context.Context) error {
	return f.table.exec(ctx, "UPDATE bead SET written = record, writing = '', marks = marks & ~? WHERE tenant = ? AND (written <> record OR writing <> '' OR marks & ?)",
		int64(markErased|markDirty), f.tenant, int64(markErased|markDirty))
}

func (f *file) resolve(ctx context.Context) error {
	if f.resolved {
		return nil
	}
	_, err := os.Stat(f.path + ".tmp")
	switch {
	case err == nil: // not replaced
		err = f.table.exec(ctx, "UPDATE bead SET writing = '' WHERE tenant = ? AND writing <> ''", f.tenant)
	case errors.Is(err, fs.ErrNotExist):
		err = f.table.exec(ctx, "UPDATE bead SET written = writing, writing = '' WHERE tenant = ? AND writing <> ''", f.tenant)
	}
	f.resolved = err == nil
	return err
}

func (f *file) quarantine(ctx context.Context) error {
	content, err := os.ReadFile(f.path)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(content)
	quarantined := f.path + ".rejected-" + hex.EncodeToString(sum[:6])
	if err := atomicfile.Write(quarantined, content); err != nil {
		return err
	}
	f.logger.WarnContext(ctx, "unreadable issues file quarantined", "at", f.problem.Error(), "copy", quarantined)
	return nil
}

// scrubQuarantine also removes lines that cannot be read, because they may belong to erased issues.
func scrubQuarantine(path string, erased []string) error {
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

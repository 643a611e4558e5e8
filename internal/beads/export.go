package beads

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/atomicfile"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

// Export brings the files of all workspaces up to what was flushed. A crash
// leaves each as it was or as it is to be.
func (s *Store) Export(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for tenant := range s.stale {
		if err := s.export(ctx, tenant); err != nil {
			return fmt.Errorf("export issues: %w: %w", ErrTransient, err)
		}
		delete(s.stale, tenant)
	}
	return nil
}

// Recover has the next Export look at the files of all workspaces: the last
// process may have ended between Flush and Export.
func (s *Store) Recover(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err := s.db.Tx(ctx, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(conn, "SELECT DISTINCT tenant FROM bead", &sqlitex.ExecOptions{
			ResultFunc: func(stmt *sqlite.Stmt) error {
				s.stale[stmt.ColumnText(0)] = true
				return nil
			},
		})
	})
	if err != nil {
		return fmt.Errorf("list workspaces: %w", err)
	}
	return nil
}

// File returns the path of the issues of tenant below dir.
func File(dir, tenant string) (string, error) {
	name, err := subjects.FileName(tenant)
	if err != nil {
		return "", fmt.Errorf("workspace of tenant: %w", err)
	}
	return filepath.Join(dir, name, ".beads", "issues.jsonl"), nil
}

func (s *Store) export(ctx context.Context, tenant string) error {
	path, err := File(s.dir, tenant)
	if err != nil {
		return err
	}
	var content []byte
	err = s.db.Tx(ctx, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(conn, "SELECT record FROM bead WHERE tenant = ? ORDER BY id", &sqlitex.ExecOptions{
			Args: []any{tenant},
			ResultFunc: func(stmt *sqlite.Stmt) error {
				content = append(append(content, stmt.ColumnText(0)...), '\n')
				return nil
			},
		})
	})
	if err != nil {
		return err
	}
	if old, err := os.ReadFile(path); err == nil && bytes.Equal(old, content) {
		return nil
	}
	if err := makeFolder(filepath.Dir(path)); err != nil {
		return err
	}
	return replaceFile(path, content)
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

// replaceFile gives path the content: readers see all of the old or all of the
// new one, and so does a machine that lost its power. What a killed process left
// of a new one is written over.
func replaceFile(path string, content []byte) error {
	next := path + ".tmp"
	if err := writeFile(next, content); err != nil {
		return errors.Join(err, os.Remove(next))
	}
	if err := os.Rename(next, path); err != nil {
		return err
	}
	return atomicfile.SyncDir(filepath.Dir(path))
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

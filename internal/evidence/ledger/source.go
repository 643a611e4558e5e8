package ledger

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
)

type source struct {
	path   string
	tenant string

	mu   sync.Mutex // guards file; locked during a transaction, so a callback of view must not call view
	file *File
}

func openSource(path string) (*source, error) {
	s := &source{path: path}
	if err := s.open(); err != nil {
		return nil, fmt.Errorf("read ledger %s: %w", path, Refusal(err))
	}
	return s, nil
}

func (s *source) open() (err error) {
	if s.file, err = OpenFile(s.path); err != nil {
		return err
	}
	fresh, err := CheckFormat(s.file.Conn)
	if fresh {
		err = fs.ErrNotExist
	}
	if err != nil {
		return errors.Join(err, s.file.Close())
	}
	c, err := newest(s.file.Conn)
	if err != nil {
		return errors.Join(err, s.file.Close())
	}
	s.tenant = c.Tenant
	return nil
}

func (s *source) reopen() error {
	now, err := openSource(s.path)
	if err != nil {
		return err
	}
	if now.tenant != s.tenant {
		err := fmt.Errorf("read ledger %s: %w: it now belongs to tenant %q", s.path, ErrDamaged, now.tenant)
		return errors.Join(err, now.file.Close())
	}
	old := s.file
	s.file = now.file
	return old.Close()
}

func (s *source) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.file.Close()
}

// view reads in a transaction. Otherwise, SQLite could mix old and new data while the file
// changes.
func (s *source) view(ctx context.Context, read func(*sqlite.Conn) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if s.file.Changed() {
		if err := s.reopen(); err != nil {
			return err
		}
	}
	if err := sqlitetx.Within(ctx, s.file.Conn, sqlitetx.BeginRead, func() error { return read(s.file.Conn) }); err != nil {
		return fmt.Errorf("read ledger %s: %w", s.path, Refusal(err))
	}
	return nil
}

func (s *source) vacuum(ctx context.Context, out string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	conn, err := s.file.Connect()
	if err != nil {
		return err
	}
	conn.SetInterrupt(ctx.Done())
	err = sqlitetx.Exec(conn, "PRAGMA query_only=0")
	if err == nil {
		err = sqlitex.ExecuteTransient(conn, "VACUUM INTO ?", &sqlitex.ExecOptions{Args: []any{out}})
	}
	conn.SetInterrupt(nil)
	return errors.Join(err, conn.Close())
}

func newest(conn *sqlite.Conn) (Checkpoint, error) {
	signed, err := NewestNote(conn)
	if err != nil {
		return Checkpoint{}, err
	}
	return ReadCheckpoint(signed)
}

package projection

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
)

// ErrClosed means that the database was closed before the call.
var ErrClosed = errors.New("projection is closed")

// Tx runs fn in a transaction. When Tx returns nil, the changes are on disk. fn must not end the
// transaction or keep conn.
func (db *DB) Tx(ctx context.Context, fn func(conn *sqlite.Conn) error) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.conn == nil {
		return ErrClosed
	}
	return sqlitetx.Within(ctx, db.conn, sqlitetx.BeginWrite, func() error { return fn(db.conn) })
}

// Commit runs fn in a transaction, and stores the position next in the same transaction. If marks
// is not nil, Commit also stores the changed marks.
func (db *DB) Commit(ctx context.Context, next Position, marks *Marks, fn func(conn *sqlite.Conn) error) error {
	if marks != nil {
		marks.Rollback()
	}
	err := db.Tx(ctx, func(conn *sqlite.Conn) error {
		if err := fn(conn); err != nil {
			return err
		}
		if marks != nil {
			if err := db.SaveMarks(conn, marks); err != nil {
				return err
			}
		}
		return db.SavePosition(conn, next)
	})
	switch {
	case marks == nil:
	case err != nil:
		marks.Rollback()
	default:
		marks.Commit()
	}
	return err
}

// Scrub rewrites the database file, because SQLite leaves copies of deleted rows in it. Scrub
// fails while a reader uses the write-ahead log.
func (db *DB) Scrub(ctx context.Context) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.conn == nil {
		return ErrClosed
	}
	db.conn.SetInterrupt(ctx.Done())
	defer db.conn.SetInterrupt(nil)
	busy := false
	err := sqlitex.ExecuteTransient(db.conn, "VACUUM", nil)
	if err == nil {
		err = sqlitex.Execute(db.conn, "PRAGMA wal_checkpoint(TRUNCATE)", &sqlitex.ExecOptions{
			ResultFunc: func(stmt *sqlite.Stmt) error { busy = stmt.ColumnBool(0); return nil },
		})
	}
	if err == nil && busy {
		err = errors.New("a reader uses the log")
	}
	if err != nil {
		return fmt.Errorf("scrub %s: %w", db.path, err)
	}
	return nil
}

// Position returns the position that the database stores.
func (db *DB) Position(ctx context.Context) (p Position, err error) {
	err = db.Tx(ctx, func(conn *sqlite.Conn) error {
		p, err = PositionOf(conn)
		return err
	})
	return p, err
}

// Read runs fn on a snapshot of the database file, even while another process writes the file. If
// the file is missing or empty, the error wraps [fs.ErrNotExist].
func Read(ctx context.Context, path string, schema Schema, fn func(conn *sqlite.Conn) error) (err error) {
	if info, err := os.Stat(path); err != nil {
		return fmt.Errorf("read projection: %w", err)
	} else if info.Size() == 0 {
		return fmt.Errorf("read projection %s: %w", path, fs.ErrNotExist)
	}
	conn, err := openReader(path)
	if err != nil {
		return fmt.Errorf("read projection %s: %w", path, withRemedy(err))
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	conn.SetBusyTimeout(busyTimeout)
	err = sqlitetx.Within(ctx, conn, sqlitetx.BeginRead, func() error {
		have, err := versionOf(conn)
		switch {
		case err != nil:
			return err
		case have == 0:
			if err := checkEmpty(conn); err != nil {
				return err
			}
			return fs.ErrNotExist // the writer has not created the tables yet
		}
		if err := schema.check(conn, have); err != nil {
			return err
		}
		return fn(conn)
	})
	if err != nil {
		return fmt.Errorf("read projection %s: %w", path, withRemedy(err))
	}
	return nil
}

// openReader also works on a read-only disk, where SQLite cannot create the -shm file. It then
// opens the file as immutable.
func openReader(path string) (*sqlite.Conn, error) {
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadOnly)
	if err != nil {
		return nil, err
	}
	if _, err = versionOf(conn); err == nil { // database errors only appear at the first read
		return conn, nil
	}
	err = errors.Join(err, conn.Close())
	if code := sqlite.ErrCode(err).ToPrimary(); code != sqlite.ResultCantOpen && code != sqlite.ResultReadOnly {
		return nil, err
	}
	if info, e := os.Stat(path + "-wal"); e == nil && info.Size() > 0 {
		return nil, fmt.Errorf("%w; the log cannot be read here, so copy the file and its -wal to a writable folder", err)
	}
	absolute, err := filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	uri := url.URL{Scheme: "file", Path: absolute, RawQuery: "immutable=1"}
	return sqlite.OpenConn(uri.String(), sqlite.OpenReadOnly, sqlite.OpenURI)
}

// WithAttached attaches the database file at path under the given name, and runs fn in a
// transaction. No other process may write to the attached file.
func (db *DB) WithAttached(ctx context.Context, path, name string, fn func(conn *sqlite.Conn) error) (err error) {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.conn == nil {
		return ErrClosed
	}
	if err := sqlitex.Execute(db.conn, "ATTACH DATABASE ? AS "+name, &sqlitex.ExecOptions{Args: []any{path}}); err != nil {
		return fmt.Errorf("attach %s: %w", path, err)
	}
	defer func() { err = errors.Join(err, sqlitex.ExecuteTransient(db.conn, "DETACH DATABASE "+name, nil)) }()
	return sqlitetx.Within(ctx, db.conn, sqlitetx.BeginWrite, func() error { return fn(db.conn) })
}

package projection

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/filelock"
)

// ErrSchema is wrapped when a file was written by another version, or is none of
// ours at all.
var ErrSchema = errors.New("projection has another schema")

const busyTimeout = 10 * time.Second

// Version is that of a projection's schema: at least 1, and raised with each
// change.
type Version int64

const ownSchema = `
CREATE TABLE projection_position (
	id       INTEGER PRIMARY KEY CHECK (id = 1),
	sequence INTEGER NOT NULL,
	stream   INTEGER NOT NULL, -- Unix time of its creation in nanoseconds, 0 before there is one
	hash     BLOB NOT NULL
) STRICT;
CREATE TABLE projection_mark (
	tenant   TEXT NOT NULL,
	producer TEXT NOT NULL,
	sequence INTEGER NOT NULL,
	PRIMARY KEY (tenant, producer)
) STRICT, WITHOUT ROWID;
`

// DB is the file of a projection, open for writing. Its methods may be called
// concurrently; transactions run one after the other.
type DB struct {
	path string
	lock *filelock.Lock

	mu   sync.Mutex // guards conn; held for a whole transaction
	conn *sqlite.Conn
}

// Open opens the file at path, waiting until ctx ends for a process that has
// it. A new file gets the tables of schema, a script, and its version.
func Open(ctx context.Context, path string, version Version, schema string) (*DB, error) {
	if version < 1 {
		return nil, fmt.Errorf("projection %s: schema version is %d, at least 1 is needed", path, version)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("projection folder: %w", err)
	}
	lock, err := filelock.Wait(ctx, path+".lock")
	if err != nil {
		return nil, fmt.Errorf("projection %s: %w", path, err)
	}
	db := &DB{path: path, lock: lock}
	if err := db.open(ctx, version, schema); err != nil {
		return nil, errors.Join(fmt.Errorf("projection %s: %w", path, readable(err)), db.Close())
	}
	return db, nil
}

func (db *DB) open(ctx context.Context, version Version, schema string) error {
	// SQLite would make it readable for all; its log inherits the mode.
	f, err := os.OpenFile(db.path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	db.conn, err = sqlite.OpenConn(db.path, sqlite.OpenReadWrite, sqlite.OpenWAL)
	if err != nil {
		return err
	}
	db.conn.SetBusyTimeout(busyTimeout)
	for _, pragma := range [...]string{
		"PRAGMA synchronous = FULL", "PRAGMA foreign_keys = ON", "PRAGMA journal_size_limit = 67108864",
	} {
		if err := sqlitex.ExecuteTransient(db.conn, pragma, nil); err != nil {
			return err
		}
	}
	return db.Tx(ctx, func(conn *sqlite.Conn) error { return prepare(conn, version, schema) })
}

// prepare makes the tables of a new file and checks the version of others.
func prepare(conn *sqlite.Conn, version Version, schema string) error {
	have, err := versionOf(conn)
	if err != nil {
		return err
	}
	if have != 0 {
		return checkVersion(have, version)
	}
	if err := checkEmpty(conn); err != nil {
		return err
	}
	// The version comes last, so that a comment at the end of schema is followed
	// by a statement.
	script := fmt.Sprintf("%s%s\nPRAGMA user_version = %d;", ownSchema, schema, version)
	if err := sqlitex.ExecuteScript(conn, script, nil); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	return nil
}

func versionOf(conn *sqlite.Conn) (Version, error) {
	var v Version
	err := sqlitex.ExecuteTransient(conn, "PRAGMA user_version", &sqlitex.ExecOptions{
		ResultFunc: func(stmt *sqlite.Stmt) error {
			v = Version(stmt.ColumnInt64(0))
			return nil
		},
	})
	return v, err
}

func checkVersion(have, want Version) error {
	if have == want {
		return nil
	}
	return fmt.Errorf("%w: it is version %d, this program writes %d; %s", ErrSchema, have, want, remedy)
}

const remedy = "delete the file to build it again from the stream"

// checkEmpty refuses a database without a version that has tables all the same.
func checkEmpty(conn *sqlite.Conn) error {
	empty := true
	err := sqlitex.ExecuteTransient(conn, "SELECT 1 FROM sqlite_schema LIMIT 1", &sqlitex.ExecOptions{
		ResultFunc: func(*sqlite.Stmt) error { empty = false; return nil },
	})
	if err == nil && !empty {
		err = fmt.Errorf("%w: it has tables of another program; %s", ErrSchema, remedy)
	}
	return err
}

// readable adds to err what to do about a file that SQLite cannot make out.
func readable(err error) error {
	if code := sqlite.ErrCode(err).ToPrimary(); code == sqlite.ResultCorrupt || code == sqlite.ResultNotADB {
		return fmt.Errorf("%w: %w; %s", ErrSchema, err, remedy)
	}
	return err
}

// Path returns where the file is.
func (db *DB) Path() string { return db.path }

// Close closes the file and lets the next process have it.
func (db *DB) Close() error {
	db.mu.Lock()
	defer db.mu.Unlock()
	var err error
	if db.conn != nil {
		err = db.conn.Close()
		db.conn = nil
	}
	return errors.Join(err, db.lock.Unlock())
}

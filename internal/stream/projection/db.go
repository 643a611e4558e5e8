package projection

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/platform/filelock"
)

// ErrSchema is wrapped when a file was written by another version, or is none of
// ours at all.
var ErrSchema = errors.New("projection has another schema")

const busyTimeout = 10 * time.Second

// Schema is what the file of a projection holds.
type Schema struct {
	Name    string // of the projection: a file of another one is refused
	Version int64  // at least 1, and raised with each change of Tables
	Tables  string // a script that makes them
}

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
// it, and says so in the log. A new file gets the tables of schema.
func Open(ctx context.Context, path string, schema Schema, logger *slog.Logger) (*DB, error) {
	if schema.Version < 1 {
		return nil, fmt.Errorf("projection %s: schema version is %d, at least 1 is needed", path, schema.Version)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("projection folder: %w", err)
	}
	lock, err := filelock.Wait(ctx, path+".lock", func() {
		logger.InfoContext(ctx, "waiting for the process that has the file", "file", path)
	})
	if err != nil {
		return nil, fmt.Errorf("projection %s: %w", path, err)
	}
	db := &DB{path: path, lock: lock}
	if err := db.open(ctx, schema); err != nil {
		return nil, errors.Join(fmt.Errorf("projection %s: %w", path, readable(err)), db.Close())
	}
	return db, nil
}

func (db *DB) open(ctx context.Context, schema Schema) error {
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
		"PRAGMA secure_delete = ON", // what is erased is not to be found in free pages
	} {
		if err := sqlitex.ExecuteTransient(db.conn, pragma, nil); err != nil {
			return err
		}
	}
	return db.Tx(ctx, func(conn *sqlite.Conn) error { return prepare(conn, schema) })
}

// prepare makes the tables of a new file and checks the version of others.
func prepare(conn *sqlite.Conn, schema Schema) error {
	have, err := versionOf(conn)
	if err != nil {
		return err
	}
	if have != 0 {
		return schema.check(conn, have)
	}
	if err := checkEmpty(conn); err != nil {
		return err
	}
	// The version comes last, so that a comment at the end of the tables is
	// followed by a statement.
	script := fmt.Sprintf("%s%s\nPRAGMA application_id = %d; PRAGMA user_version = %d;",
		ownSchema, schema.Tables, schema.applicationID(), schema.Version)
	if err := sqlitex.ExecuteScript(conn, script, nil); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	return nil
}

func versionOf(conn *sqlite.Conn) (int64, error) { return pragma(conn, "PRAGMA user_version") }

func pragma(conn *sqlite.Conn, query string) (v int64, err error) {
	err = sqlitex.ExecuteTransient(conn, query, &sqlitex.ExecOptions{
		ResultFunc: func(stmt *sqlite.Stmt) error {
			v = stmt.ColumnInt64(0)
			return nil
		},
	})
	return v, err
}

// applicationID is what SQLite files keep to tell what they are for.
func (s Schema) applicationID() int64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte("hooktrail " + s.Name)) // a hash takes everything
	return int64(int32(h.Sum32()))                // the field is a signed one of 32 bits
}

// check reports whether a file of version have holds s.
func (s Schema) check(conn *sqlite.Conn, have int64) error {
	id, err := pragma(conn, "PRAGMA application_id")
	switch {
	case err != nil:
		return err
	case id != s.applicationID():
		return fmt.Errorf("%w: it is not of the projection %s; %s", ErrSchema, s.Name, remedy)
	case have != s.Version:
		return fmt.Errorf("%w: it is version %d, this program writes %d; %s", ErrSchema, have, s.Version, remedy)
	}
	return nil
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

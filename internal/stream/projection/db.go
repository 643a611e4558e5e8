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

// ErrSchema means that another version or program wrote the database file.
var ErrSchema = errors.New("projection has another schema")

const busyTimeout = 10 * time.Second

// Schema describes the tables of a projection, which is a database that is derived from the stream.
type Schema struct {
	Name    string // files with another name are rejected
	Version int64  // at least 1; must increase with each change of Tables
	Tables  string

	// Upgrades maps each schema version to the SQL script that upgrades it to the next version. A
	// script must keep the tables that readers of older files use.
	Upgrades map[int64]string
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

// DB is the database file of a projection, open for writing. Its methods may be called
// concurrently, but transactions run one after another.
type DB struct {
	path string
	lock *filelock.Lock

	mu   sync.Mutex // guards conn; locked for a whole transaction
	conn *sqlite.Conn
}

// Open opens the database file of a projection, and creates a missing one. If another process has
// locked the file, Open waits until ctx ends.
func Open(ctx context.Context, path string, schema Schema, logger *slog.Logger) (*DB, error) {
	if schema.Version < 1 {
		return nil, fmt.Errorf("projection %s: schema version is %d, at least 1 is needed", path, schema.Version)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("projection folder: %w", err)
	}
	lock, err := filelock.Wait(ctx, path+".lock", func() {
		logger.InfoContext(ctx, "waiting for the process that locks the file", "file", path)
	})
	if err != nil {
		return nil, fmt.Errorf("projection %s: %w", path, err)
	}
	db := &DB{path: path, lock: lock}
	if err := db.open(ctx, schema); err != nil {
		return nil, errors.Join(fmt.Errorf("projection %s: %w", path, withRemedy(err)), db.Close())
	}
	return db, nil
}

func (db *DB) open(ctx context.Context, schema Schema) error {
	// Without this call, SQLite would create a file that every user can read.
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
		"PRAGMA secure_delete = ON", // do not keep erased data in free pages
	} {
		if err := sqlitex.ExecuteTransient(db.conn, pragma, nil); err != nil {
			return err
		}
	}
	return db.Tx(ctx, func(conn *sqlite.Conn) error { return prepare(conn, schema) })
}

func prepare(conn *sqlite.Conn, schema Schema) error {
	have, err := versionOf(conn)
	if err != nil {
		return err
	}
	if have != 0 {
		if err := schema.check(conn, have); err != nil {
			return err
		}
		return schema.upgrade(conn, have)
	}
	if err := checkEmpty(conn); err != nil {
		return err
	}
	// The line break ends a comment in the last line of Tables.
	script := fmt.Sprintf("%s%s\nPRAGMA application_id = %d; PRAGMA user_version = %d;",
		ownSchema, schema.Tables, schema.applicationID(), schema.Version)
	if err := sqlitex.ExecuteScript(conn, script, nil); err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	return nil
}

func (s Schema) upgrade(conn *sqlite.Conn, version int64) error {
	for ; version < s.Version; version++ {
		script := fmt.Sprintf("%s\nPRAGMA user_version = %d;", s.Upgrades[version], version+1)
		if err := sqlitex.ExecuteScript(conn, script, nil); err != nil {
			return fmt.Errorf("upgrade from version %d: %w", version, err)
		}
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

func (s Schema) applicationID() int64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte("hooktrail " + s.Name)) // a hash never fails
	return int64(int32(h.Sum32()))                // SQLite stores a signed 32-bit value
}

func (s Schema) check(conn *sqlite.Conn, version int64) error {
	id, err := pragma(conn, "PRAGMA application_id")
	switch {
	case err != nil:
		return err
	case id != s.applicationID():
		return fmt.Errorf("%w: the file does not belong to the projection %s; %s", ErrSchema, s.Name, remedy)
	case !s.accepts(version):
		return fmt.Errorf("%w: the file has version %d, this program writes %d; %s", ErrSchema, version, s.Version, remedy)
	}
	return nil
}

func (s Schema) accepts(version int64) bool {
	for ; version < s.Version; version++ {
		if _, ok := s.Upgrades[version]; !ok {
			return false
		}
	}
	return version == s.Version
}

const remedy = "delete the file to rebuild it from the stream"

func checkEmpty(conn *sqlite.Conn) error {
	empty := true
	err := sqlitex.ExecuteTransient(conn, "SELECT 1 FROM sqlite_schema LIMIT 1", &sqlitex.ExecOptions{
		ResultFunc: func(*sqlite.Stmt) error { empty = false; return nil },
	})
	if err == nil && !empty {
		err = fmt.Errorf("%w: the file has tables of another program; %s", ErrSchema, remedy)
	}
	return err
}

func withRemedy(err error) error {
	if code := sqlite.ErrCode(err).ToPrimary(); code == sqlite.ResultCorrupt || code == sqlite.ResultNotADB {
		return fmt.Errorf("%w: %w; %s", ErrSchema, err, remedy)
	}
	return err
}

// Path returns the path of the file.
func (db *DB) Path() string { return db.path }

// Close closes the file and releases its lock.
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

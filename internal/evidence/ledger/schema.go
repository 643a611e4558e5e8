package ledger

import (
	"errors"
	"fmt"
	"sync"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
)

const (
	applicationID = 0x48544c47 // "HTLG"
	schemaVersion = 2
)

// Readers compute the encoding of a leaf from its row, so queries return signed values. Producers
// and runs are numbered in the order of their first appearance, and 0 is the empty name.
//
//   - payloads.bytes is the record, verbatim. The content of a blob chunk is cut out at offset
//     cut and stored in blobs, once for all events with that content.
//   - chunks lists the chunks of each blob by the hash of the blob.
//   - hashes contains the tree in the order of package tlog, with 256 hashes in each row.
//   - seen contains the repetitions.
//   - orders contains the effect of each signed order, by the leaf of its event. If it lifts
//     a hold, the column hold is the id of that hold.
//   - erased contains the leaves whose payloads an order destroyed, and the leaf of that
//     order. Such a leaf has no row in payloads.
const schema = `
CREATE TABLE producers (producer INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE runs (run INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE) STRICT;
CREATE TABLE leaves (
	leaf INTEGER PRIMARY KEY,
	class TEXT NOT NULL,
	id TEXT NOT NULL,
	producer INTEGER NOT NULL,
	sequence INTEGER NOT NULL,
	run INTEGER NOT NULL,
	kind TEXT NOT NULL,
	time TEXT NOT NULL,
	hash BLOB NOT NULL,
	finding TEXT NOT NULL,
	epoch INTEGER NOT NULL,
	stream INTEGER NOT NULL,
	stored INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX leaves_id ON leaves (id) WHERE class = 'event';
CREATE INDEX leaves_producer ON leaves (producer, sequence);
CREATE INDEX leaves_run ON leaves (run);
CREATE TABLE payloads (leaf INTEGER PRIMARY KEY, bytes BLOB NOT NULL, blob INTEGER, cut INTEGER) STRICT;
CREATE TABLE blobs (blob INTEGER PRIMARY KEY, hash BLOB NOT NULL UNIQUE, content BLOB NOT NULL) STRICT;
CREATE TABLE chunks (
	whole BLOB NOT NULL, part INTEGER NOT NULL, leaf INTEGER NOT NULL,
	PRIMARY KEY (whole, part, leaf)
) STRICT, WITHOUT ROWID;
CREATE TABLE hashes (chunk INTEGER PRIMARY KEY, bytes BLOB NOT NULL) STRICT;
CREATE TABLE seen (
	seen INTEGER PRIMARY KEY,
	leaf INTEGER NOT NULL,
	producer INTEGER NOT NULL,
	sequence INTEGER NOT NULL,
	hash BLOB NOT NULL,
	epoch INTEGER NOT NULL,
	stream INTEGER NOT NULL,
	stored INTEGER NOT NULL
) STRICT;
CREATE INDEX seen_producer ON seen (producer, sequence);
CREATE TABLE orders (
	leaf INTEGER PRIMARY KEY,
	id TEXT NOT NULL UNIQUE,
	action TEXT NOT NULL,
	effect TEXT NOT NULL,
	hold TEXT NOT NULL
) STRICT;
CREATE TABLE erased (leaf INTEGER PRIMARY KEY, word TEXT NOT NULL, ordered INTEGER NOT NULL) STRICT;
CREATE INDEX erased_ordered ON erased (ordered, leaf);
CREATE TABLE checkpoints (checkpoint INTEGER PRIMARY KEY, size INTEGER NOT NULL, note TEXT NOT NULL) STRICT;
`

// ErrSchema means that a file is not a ledger, or that another version of Hooktrail wrote the
// ledger.
var ErrSchema = errors.New("not a ledger of this version")

// MakeTables creates the tables of a ledger in an empty database.
func MakeTables(conn *sqlite.Conn) error {
	script := schema + fmt.Sprintf("PRAGMA application_id=%d; PRAGMA user_version=%d;", applicationID, schemaVersion)
	if err := sqlitex.ExecuteScript(conn, script, nil); err != nil {
		return fmt.Errorf("make tables: %w", err)
	}
	return nil
}

// CheckFormat returns an error if this version cannot read the database. fresh is true if the
// database is empty.
func CheckFormat(conn *sqlite.Conn) (fresh bool, err error) {
	id, err := pragma(conn, "application_id")
	if err != nil {
		return false, err
	}
	version, err := pragma(conn, "user_version")
	if err != nil {
		return false, err
	}
	if id == 0 && version == 0 {
		tables, err := sqlitetx.Int(conn, "SELECT count(*) FROM sqlite_schema")
		return tables == 0, err
	}
	if id != applicationID || version != schemaVersion {
		return false, fmt.Errorf("%w: application %#x, version %d", ErrSchema, id, version)
	}
	return false, nil
}

// CheckSchema returns an error if the tables, indexes, triggers or views differ from this
// version's schema. An attacker could otherwise add a trigger or a view that makes queries return
// false rows.
func CheckSchema(conn *sqlite.Conn) error {
	if fresh, err := CheckFormat(conn); err != nil {
		return err
	} else if fresh {
		return fmt.Errorf("%w: it is empty; was it copied without its log, %s-wal?", ErrSchema, FileName)
	}
	want, err := ownSchema()
	if err != nil {
		return err
	}
	have, err := schemaOf(conn)
	if err != nil {
		return err
	}
	for name, sql := range want {
		if have[name] != sql {
			return fmt.Errorf("%w: %s is missing or another one", ErrSchema, name)
		}
	}
	for name := range have {
		if _, ok := want[name]; !ok {
			return fmt.Errorf("%w: %s is too many", ErrSchema, name)
		}
	}
	return nil
}

var ownSchema = sync.OnceValues(func() (all map[string]string, err error) { //nolint:gochecknoglobals // a constant that SQLite computes
	memory, err := sqlite.OpenConn(":memory:", sqlite.OpenReadWrite, sqlite.OpenMemory)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, memory.Close()) }()
	if err := sqlitex.ExecuteScript(memory, schema, nil); err != nil {
		return nil, err
	}
	return schemaOf(memory)
})

func schemaOf(conn *sqlite.Conn) (map[string]string, error) {
	all := make(map[string]string)
	err := sqlitex.ExecuteTransient(conn, "SELECT type || ' ' || name || ' of ' || tbl_name, coalesce(sql, '') FROM sqlite_schema",
		&sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
			all[stmt.ColumnText(0)] = stmt.ColumnText(1)
			return nil
		}})
	return all, err
}

func pragma(conn *sqlite.Conn, name string) (int64, error) {
	return sqlitetx.Int(conn, "PRAGMA "+name)
}

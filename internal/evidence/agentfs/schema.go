package agentfs

import (
	"fmt"
	"strconv"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// chunkSize is the size of a file's pieces in fs_data: what the clients write.
const chunkSize = 4096

// The clients' own tables and indexes, as agentfs-sdk 0.6 makes them: nothing
// may be added to these, and its engine refuses triggers, CHECK, generated
// columns and WITHOUT ROWID anywhere. The root folder has no time: no event makes
// it.
var clientSchema = []string{
	`CREATE TABLE IF NOT EXISTS kv_store (key TEXT PRIMARY KEY, value TEXT NOT NULL, created_at INTEGER DEFAULT (unixepoch ()), updated_at INTEGER DEFAULT (unixepoch ()))`,
	`CREATE TABLE IF NOT EXISTS fs_config (key TEXT PRIMARY KEY, value TEXT NOT NULL)`,
	`CREATE TABLE IF NOT EXISTS tool_calls (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, parameters TEXT, result TEXT, error TEXT, status TEXT NOT NULL DEFAULT 'pending', started_at INTEGER NOT NULL, completed_at INTEGER, duration_ms INTEGER)`,
	`CREATE INDEX IF NOT EXISTS idx_kv_store_created_at ON kv_store (created_at)`,
	`CREATE TABLE IF NOT EXISTS fs_inode (ino INTEGER PRIMARY KEY AUTOINCREMENT, mode INTEGER NOT NULL, nlink INTEGER NOT NULL DEFAULT 0, uid INTEGER NOT NULL DEFAULT 0, gid INTEGER NOT NULL DEFAULT 0, size INTEGER NOT NULL DEFAULT 0, atime INTEGER NOT NULL, mtime INTEGER NOT NULL, ctime INTEGER NOT NULL, rdev INTEGER NOT NULL DEFAULT 0, atime_nsec INTEGER NOT NULL DEFAULT 0, mtime_nsec INTEGER NOT NULL DEFAULT 0, ctime_nsec INTEGER NOT NULL DEFAULT 0)`,
	`CREATE INDEX IF NOT EXISTS idx_tool_calls_name ON tool_calls (name)`,
	`CREATE TABLE IF NOT EXISTS fs_dentry (id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, parent_ino INTEGER NOT NULL, ino INTEGER NOT NULL, UNIQUE (parent_ino, name))`,
	`CREATE INDEX IF NOT EXISTS idx_tool_calls_started_at ON tool_calls (started_at)`,
	`CREATE INDEX IF NOT EXISTS idx_fs_dentry_parent ON fs_dentry (parent_ino, name)`,
	`CREATE TABLE IF NOT EXISTS fs_data (ino INTEGER NOT NULL, chunk_index INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (ino, chunk_index))`,
	`CREATE TABLE IF NOT EXISTS fs_symlink (ino INTEGER PRIMARY KEY, target TEXT NOT NULL)`,
	`INSERT OR IGNORE INTO fs_config (key, value) VALUES ('chunk_size', '4096'), ('schema_version', '0.4')`,
	`INSERT OR IGNORE INTO fs_inode (ino, mode, nlink, atime, mtime, ctime) VALUES (1, 16877, 1, 0, 0, 0)`,
}

// Our own tables: plain ones, which the clients pass over. They say which rows
// are ours, and what the rows alone do not tell.
//
//	hooktrail_state   position, and the hash of the event there; the last order obeyed
//	hooktrail_rows    key of a run's start, end, step or tool call → tool_calls.id, start in microseconds
//	hooktrail_keys    keys of kv_store that are ours, what their value is merged from, and from which number of whose
//	hooktrail_files   paths that are ours
var ownSchema = []string{
	`CREATE TABLE IF NOT EXISTS hooktrail_state (name TEXT PRIMARY KEY, value TEXT NOT NULL)`,
	`CREATE TABLE IF NOT EXISTS hooktrail_rows (key TEXT PRIMARY KEY, id INTEGER NOT NULL, started INTEGER NOT NULL)`,
	`CREATE TABLE IF NOT EXISTS hooktrail_keys (key TEXT PRIMARY KEY, started TEXT, finished TEXT, started_by TEXT, finished_by TEXT)`,
	`CREATE TABLE IF NOT EXISTS hooktrail_files (path TEXT PRIMARY KEY)`,
}

// removeRows removes every row that this package wrote, and keeps what other
// tools wrote: what a file goes through before it is written anew.
var removeRows = []string{
	`DELETE FROM tool_calls WHERE id IN (SELECT id FROM hooktrail_rows)`,
	`DELETE FROM kv_store WHERE key IN (SELECT key FROM hooktrail_keys)`,
	`DELETE FROM hooktrail_rows`,
	`DELETE FROM hooktrail_keys`,
	`DELETE FROM hooktrail_state`,
}

// prepare makes the tables of a new file, and refuses one whose files lie in
// pieces of another size.
func prepare(conn *sqlite.Conn) error {
	for _, statements := range [][]string{clientSchema, ownSchema} {
		if err := execute(conn, statements); err != nil {
			return fmt.Errorf("make tables: %w", err)
		}
	}
	size := ""
	err := sqlitex.Execute(conn, `SELECT value FROM fs_config WHERE key = 'chunk_size'`, &sqlitex.ExecOptions{
		ResultFunc: func(stmt *sqlite.Stmt) error { size = stmt.ColumnText(0); return nil },
	})
	if err != nil {
		return fmt.Errorf("read configuration: %w", err)
	}
	if size != strconv.Itoa(chunkSize) {
		return fmt.Errorf("chunk size %q is not supported, only %d", size, chunkSize)
	}
	return nil
}

// execute runs statements one by one. Unlike a script of sqlitex it does not
// panic when the disk is too full even to roll back.
func execute(conn *sqlite.Conn, statements []string) error {
	for _, statement := range statements {
		if err := sqlitex.ExecuteTransient(conn, statement, nil); err != nil {
			return err
		}
	}
	return nil
}

// position is how far a file has come: the last leaf applied to it.
type position struct {
	leaf int64 // -1 is nothing yet
	hash string
}

var start = position{leaf: -1}

func positionOf(e Entry) position {
	return position{leaf: e.Leaf, hash: e.Hash.String()}
}

func loadPosition(conn *sqlite.Conn, table string) (position, error) {
	p := start
	err := sqlitex.Execute(conn, `SELECT name, value FROM `+table+` WHERE name IN ('position', 'hash')`, &sqlitex.ExecOptions{
		ResultFunc: func(stmt *sqlite.Stmt) (err error) {
			if stmt.ColumnText(0) == "hash" {
				p.hash = stmt.ColumnText(1)
				return nil
			}
			p.leaf, err = strconv.ParseInt(stmt.ColumnText(1), 10, 64)
			return err
		},
	})
	if err != nil {
		return start, fmt.Errorf("read position: %w", err)
	}
	return p, nil
}

func savePosition(conn *sqlite.Conn, table string, p position) error {
	err := sqlitex.Execute(conn, `INSERT OR REPLACE INTO `+table+` (name, value) VALUES ('position', ?), ('hash', ?)`,
		&sqlitex.ExecOptions{Args: []any{strconv.FormatInt(p.leaf, 10), p.hash}})
	if err != nil {
		return fmt.Errorf("save position: %w", err)
	}
	return nil
}

// loadNumber returns a number of a state table, -1 if it is not there.
func loadNumber(conn *sqlite.Conn, table, name string) (int64, error) {
	n := int64(-1)
	err := sqlitex.Execute(conn, `SELECT value FROM `+table+` WHERE name = ?`, &sqlitex.ExecOptions{
		Args:       []any{name},
		ResultFunc: func(stmt *sqlite.Stmt) (err error) { n, err = strconv.ParseInt(stmt.ColumnText(0), 10, 64); return err },
	})
	if err != nil {
		return -1, fmt.Errorf("read %s: %w", name, err)
	}
	return n, nil
}

func saveNumber(conn *sqlite.Conn, table, name string, n int64) error {
	err := sqlitex.Execute(conn, `INSERT OR REPLACE INTO `+table+` (name, value) VALUES (?, ?)`,
		&sqlitex.ExecOptions{Args: []any{name, strconv.FormatInt(n, 10)}})
	if err != nil {
		return fmt.Errorf("save %s: %w", name, err)
	}
	return nil
}

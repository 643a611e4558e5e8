package agentfs

import (
	"fmt"
	"strconv"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// chunkSize is the size of a row of fs_data. The AgentFS clients rely on it.
const chunkSize = 4096

// clientSchema contains the tables of agentfs-sdk 0.6. Its clients refuse any other schema, such
// as tables with triggers, CHECK or generated columns.
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

// ownSchema contains the tables of this package. AgentFS clients ignore them.
//
//	hooktrail_state   position, hash of the record there, last applied erasure order
//	hooktrail_rows    key of a run's start or end, a step or a tool call → tool_calls.id, start in microseconds, outcome of a call
//	hooktrail_keys    keys in kv_store, the documents that a value is merged from, their producers and sequences
//	hooktrail_files   paths in the file system tables
var ownSchema = []string{
	`CREATE TABLE IF NOT EXISTS hooktrail_state (name TEXT PRIMARY KEY, value TEXT NOT NULL)`,
	`CREATE TABLE IF NOT EXISTS hooktrail_rows (key TEXT PRIMARY KEY, id INTEGER NOT NULL, started INTEGER NOT NULL, outcome TEXT)`,
	`CREATE TABLE IF NOT EXISTS hooktrail_keys (key TEXT PRIMARY KEY, started TEXT, finished TEXT, started_by TEXT, finished_by TEXT)`,
	`CREATE TABLE IF NOT EXISTS hooktrail_files (path TEXT PRIMARY KEY)`,
}

func prepare(conn *sqlite.Conn) error {
	for _, statements := range [][]string{clientSchema, ownSchema} {
		if err := executeAll(conn, statements); err != nil {
			return fmt.Errorf("make tables: %w", err)
		}
	}
	if err := addOutcome(conn); err != nil {
		return fmt.Errorf("extend tables: %w", err)
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

func addOutcome(conn *sqlite.Conn) error {
	n, err := number(conn, `SELECT count(*) FROM pragma_table_info('hooktrail_rows') WHERE name = 'outcome'`)
	if err != nil || n > 0 {
		return err
	}
	return execute(conn, `ALTER TABLE hooktrail_rows ADD COLUMN outcome TEXT`)
}

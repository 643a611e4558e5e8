package agentfs

import (
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// idsPerLeaf is how many ids of tool_calls belong to one leaf of the ledger: a
// row has the id of the leaf that it came with, so that it keeps it when the
// file is written anew, and what other tools record in between finds room
// behind it. 2³³ leaves stay within what JavaScript counts exactly.
const idsPerLeaf = 1 << 20

// status is the state of a row, in the words of the clients.
type status string

const (
	pending status = "pending"
	success status = "success"
	failed  status = "error"
)

// row is one row of tool_calls. Empty parameters are NULL; of result and
// failure, the one that its status asks for is written.
type row struct {
	key        string // which run's start or end, step or tool call it is; empty in none
	name       string
	parameters []byte // JSON
	result     []byte // JSON
	failure    string
	status     status
	started    time.Time
	ended      time.Time // zero while pending
}

// known is what a file tells of a row that it already has.
type known struct {
	id         int64
	started    time.Time
	name       string
	parameters []byte
	status     status
}

// find returns the row that has key.
func (f *file) find(key string) (known, bool, error) {
	var (
		k  known
		ok bool
	)
	err := sqlitex.Execute(f.conn, `SELECT r.id, r.started, t.name, t.parameters, t.status
		FROM hooktrail_rows r JOIN tool_calls t ON t.id = r.id WHERE r.key = ?`, &sqlitex.ExecOptions{
		Args: []any{key},
		ResultFunc: func(stmt *sqlite.Stmt) error {
			ok = true
			k = known{
				id: stmt.ColumnInt64(0), started: time.UnixMicro(stmt.ColumnInt64(1)).UTC(),
				name: stmt.ColumnText(2), parameters: []byte(stmt.ColumnText(3)), status: status(stmt.ColumnText(4)),
			}
			return nil
		},
	})
	if err != nil {
		return known{}, false, fmt.Errorf("find row: %w", err)
	}
	return k, ok, nil
}

// put writes r in place of the row that has its key, or as a new one.
func (f *file) put(r row) error {
	k, ok, err := f.find(r.key)
	if err != nil {
		return err
	}
	if !ok {
		if k.id, err = f.freeID(); err != nil {
			return err
		}
	}
	err = sqlitex.Execute(f.conn, `INSERT OR REPLACE INTO hooktrail_rows (key, id, started) VALUES (?, ?, ?)`,
		&sqlitex.ExecOptions{Args: []any{r.key, k.id, r.started.UnixMicro()}})
	if err != nil {
		return fmt.Errorf("remember row: %w", err)
	}
	err = sqlitex.Execute(f.conn, `INSERT OR REPLACE INTO tool_calls
		(id, name, parameters, result, error, status, started_at, completed_at, duration_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		&sqlitex.ExecOptions{Args: append([]any{k.id}, r.columns()...)})
	if err != nil {
		return fmt.Errorf("write row: %w", err)
	}
	return nil
}

// columns returns the values of a row as the clients want them: whole seconds,
// exactly one of result and error once it is complete, and no empty JSON.
func (r row) columns() []any {
	var parameters, result, failure, completed, duration any
	if len(r.parameters) > 0 {
		parameters = text(string(r.parameters))
	}
	switch r.status {
	case pending:
		return []any{text(r.name), parameters, nil, nil, string(pending), r.started.Unix(), nil, nil}
	case success:
		result = "null"
		if len(r.result) > 0 {
			result = text(string(r.result))
		}
	case failed:
		failure = "error"
		if r.failure != "" {
			failure = text(r.failure)
		}
	}
	completed = r.ended.Unix()
	duration = (r.ended.Unix() - r.started.Unix()) * 1000
	return []any{text(r.name), parameters, result, failure, string(r.status), r.started.Unix(), completed, duration}
}

// freeID returns the first id of the present leaf that no row has.
func (f *file) freeID() (int64, error) {
	id := (f.leaf + 1) * idsPerLeaf
	for {
		taken := false
		err := sqlitex.Execute(f.conn, `SELECT 1 FROM tool_calls WHERE id = ?`, &sqlitex.ExecOptions{
			Args:       []any{id},
			ResultFunc: func(*sqlite.Stmt) error { taken = true; return nil },
		})
		if err != nil {
			return 0, fmt.Errorf("find a free id: %w", err)
		}
		if !taken {
			return id, nil
		}
		id++
	}
}

// set writes one value of the key-value store, as of the time at.
func (f *file) set(key string, value []byte, at time.Time) error {
	err := sqlitex.Execute(f.conn, `INSERT INTO kv_store (key, value, created_at, updated_at) VALUES (?1, ?2, ?3, ?3)
		ON CONFLICT (key) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at`,
		&sqlitex.ExecOptions{Args: []any{key, text(string(value)), at.Unix()}})
	if err != nil {
		return fmt.Errorf("write value: %w", err)
	}
	return nil
}

package agentfs

import (
	"fmt"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// idsPerLeaf is the distance between the row ids of two consecutive leaves. It leaves room for
// rows that other tools insert.
const idsPerLeaf = 1 << 20

type status string

const (
	pending status = "pending"
	success status = "success"
	failed  status = "error"
)

type row struct {
	key        string // see rowKey
	name       string
	parameters []byte // JSON
	result     []byte // JSON
	failure    string
	status     status
	outcome    string // status of the call's result, or deniedByHooks; empty for rows of other kinds
	started    time.Time
	ended      time.Time // zero while pending
}

const deniedByHooks = "deny"

type storedRow struct {
	id         int64
	started    time.Time
	name       string
	parameters []byte
	status     status
	outcome    string
	failure    string
}

var rowKinds = []string{"start", "end", "step", "tool"} //nolint:gochecknoglobals // a constant

func rowKey(kind, run, id string) string {
	return kind + ":" + keyPart(run) + ":" + keyPart(id)
}

type toolCalls struct {
	conn *sqlite.Conn
	leaf int64 // leaf of the current event, for the ids of new rows
}

func (t *toolCalls) find(key string) (storedRow, bool, error) {
	var (
		r  storedRow
		ok bool
	)
	err := sqlitex.Execute(t.conn, `SELECT r.id, r.started, t.name, t.parameters, t.status, t.error, r.outcome
		FROM hooktrail_rows r JOIN tool_calls t ON t.id = r.id WHERE r.key = ?`, &sqlitex.ExecOptions{
		Args: []any{key},
		ResultFunc: func(stmt *sqlite.Stmt) error {
			ok = true
			r = storedRow{
				id: stmt.ColumnInt64(0), started: time.UnixMicro(stmt.ColumnInt64(1)).UTC(),
				name: stmt.ColumnText(2), parameters: []byte(stmt.ColumnText(3)), status: status(stmt.ColumnText(4)), failure: stmt.ColumnText(5), outcome: stmt.ColumnText(6),
			}
			if r.outcome == "" {
				r.outcome = outcomeOf(r.status, r.failure)
			}
			return nil
		},
	})
	if err != nil {
		return storedRow{}, false, fmt.Errorf("find row: %w", err)
	}
	return r, ok, nil
}

func (t *toolCalls) put(r row) error {
	old, ok, err := t.find(r.key)
	if err != nil {
		return err
	}
	id := old.id
	if !ok {
		if id, err = t.freeID(); err != nil {
			return err
		}
	}
	err = execute(t.conn, `INSERT OR REPLACE INTO hooktrail_rows (key, id, started, outcome) VALUES (?, ?, ?, ?)`, r.key, id, r.started.UnixMicro(), r.outcome)
	if err != nil {
		return fmt.Errorf("record row: %w", err)
	}
	err = execute(t.conn, `INSERT OR REPLACE INTO tool_calls
		(id, name, parameters, result, error, status, started_at, completed_at, duration_ms) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		append([]any{id}, r.columns()...)...)
	if err != nil {
		return fmt.Errorf("write row: %w", err)
	}
	return nil
}

func (t *toolCalls) setCall(id int64, r row) error {
	var parameters any
	if len(r.parameters) > 0 {
		parameters = text(string(r.parameters))
	}
	return execute(t.conn, `UPDATE tool_calls SET name = ?, parameters = ? WHERE id = ?`, text(r.name), parameters, id)
}

func (t *toolCalls) freeID() (int64, error) {
	for id := (t.leaf + 1) * idsPerLeaf; ; id++ {
		taken, err := number(t.conn, `SELECT count(*) FROM tool_calls WHERE id = ?`, id)
		if err != nil {
			return 0, fmt.Errorf("find a free id: %w", err)
		}
		if taken == 0 {
			return id, nil
		}
	}
}

func (t *toolCalls) remove(key string) error {
	for _, query := range []string{
		`DELETE FROM tool_calls WHERE id = (SELECT id FROM hooktrail_rows WHERE key = ?)`,
		`DELETE FROM hooktrail_rows WHERE key = ?`,
	} {
		if err := execute(t.conn, query, key); err != nil {
			return fmt.Errorf("remove row: %w", err)
		}
	}
	return nil
}

func (t *toolCalls) removeRun(run string) error {
	for _, kind := range rowKinds {
		from, to := prefixed(rowKey(kind, run, ""))
		for _, query := range []string{
			`DELETE FROM tool_calls WHERE id IN (SELECT id FROM hooktrail_rows WHERE key >= ? AND key < ?)`,
			`DELETE FROM hooktrail_rows WHERE key >= ? AND key < ?`,
		} {
			if err := execute(t.conn, query, from, to); err != nil {
				return fmt.Errorf("remove rows: %w", err)
			}
		}
	}
	return nil
}

func (t *toolCalls) removeAll() error {
	return executeAll(t.conn, []string{
		`DELETE FROM tool_calls WHERE id IN (SELECT id FROM hooktrail_rows)`,
		`DELETE FROM hooktrail_rows`,
	})
}

func (r row) columns() []any {
	var parameters, result, failure any
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
	duration := (r.ended.Unix() - r.started.Unix()) * 1000
	return []any{text(r.name), parameters, result, failure, string(r.status), r.started.Unix(), r.ended.Unix(), duration}
}

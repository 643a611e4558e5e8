package store

import (
	"encoding/json"
	"fmt"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// Run executes a statement that returns no rows.
func Run(conn *sqlite.Conn, query string, args ...any) error {
	return sqlitex.Execute(conn, query, &sqlitex.ExecOptions{Args: args})
}

// Each calls the function row for each result of a query. It stops at the first error.
func Each(conn *sqlite.Conn, row func(*sqlite.Stmt) error, query string, args ...any) error {
	return sqlitex.Execute(conn, query, &sqlitex.ExecOptions{Args: args, ResultFunc: row})
}

// Exists reports whether the query returns a row.
func Exists(conn *sqlite.Conn, query string, args ...any) (found bool, err error) {
	err = Each(conn, func(*sqlite.Stmt) error { found = true; return nil }, query, args...)
	return found, err
}

// Records decodes the JSON in the first column of each row and calls do with it. It stops at the
// first error.
func Records[T any](conn *sqlite.Conn, do func(T) error, query string, args ...any) error {
	return Each(conn, func(stmt *sqlite.Stmt) error {
		var v T
		if err := json.Unmarshal([]byte(stmt.ColumnText(0)), &v); err != nil {
			return fmt.Errorf("decode %T: %w", v, err)
		}
		return do(v)
	}, query, args...)
}

func one[T any](conn *sqlite.Conn, v *T, query string, args ...any) error {
	return Records(conn, func(found T) error { *v = found; return nil }, query, args...)
}

// Save runs a statement with args and, as the last argument, the JSON of v.
func Save(conn *sqlite.Conn, v any, query string, args ...any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode %T: %w", v, err)
	}
	return Run(conn, query, append(args, string(data))...)
}

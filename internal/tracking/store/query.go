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

// Each runs a query and calls row for each row of the result. It stops at the first error.
func Each(conn *sqlite.Conn, row func(*sqlite.Stmt) error, query string, args ...any) error {
	return sqlitex.Execute(conn, query, &sqlitex.ExecOptions{Args: args, ResultFunc: row})
}

// Exists reports whether the query returns at least one row.
func Exists(conn *sqlite.Conn, query string, args ...any) (found bool, err error) {
	err = Each(conn, func(*sqlite.Stmt) error { found = true; return nil }, query, args...)
	return found, err
}

// Records decodes the first column of each row as JSON into a T and calls do with it. It stops
// at the first error.
func Records[T any](conn *sqlite.Conn, do func(T) error, query string, args ...any) error {
	return Each(conn, func(stmt *sqlite.Stmt) error {
		var v T
		if err := json.Unmarshal([]byte(stmt.ColumnText(0)), &v); err != nil {
			return fmt.Errorf("decode %T: %w", v, err)
		}
		return do(v)
	}, query, args...)
}

// one decodes the record that the query returns into v. If the query returns no row, v stays
// unchanged.
func one[T any](conn *sqlite.Conn, v *T, query string, args ...any) error {
	return Records(conn, func(found T) error { *v = found; return nil }, query, args...)
}

// Save encodes v as JSON and runs the statement query with args and this JSON text as the last
// argument.
func Save(conn *sqlite.Conn, v any, query string, args ...any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode %T: %w", v, err)
	}
	return Run(conn, query, append(args, string(data))...)
}

package tracker

import (
	"encoding/json"
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// run executes a statement that returns no rows.
func run(conn *sqlite.Conn, query string, args ...any) error {
	return sqlitex.Execute(conn, query, &sqlitex.ExecOptions{Args: args})
}

// each runs a query and calls row for each of its rows.
func each(conn *sqlite.Conn, row func(*sqlite.Stmt) error, query string, args ...any) error {
	return sqlitex.Execute(conn, query, &sqlitex.ExecOptions{Args: args, ResultFunc: row})
}

// exists reports whether a query has rows.
func exists(conn *sqlite.Conn, query string, args ...any) (found bool, err error) {
	err = each(conn, func(*sqlite.Stmt) error { found = true; return nil }, query, args...)
	return found, err
}

// number returns the first column of a query's only row.
func number(conn *sqlite.Conn, query string, args ...any) (n int64, err error) {
	err = each(conn, func(stmt *sqlite.Stmt) error { n = stmt.ColumnInt64(0); return nil }, query, args...)
	return n, err
}

// record decodes the first column of a query's rows, which is the record of a
// T, and calls add for each.
func record[T any](conn *sqlite.Conn, add func(T), query string, args ...any) error {
	return each(conn, func(stmt *sqlite.Stmt) error {
		var v T
		if err := json.Unmarshal([]byte(stmt.ColumnText(0)), &v); err != nil {
			return fmt.Errorf("decode %T: %w", v, err)
		}
		add(v)
		return nil
	}, query, args...)
}

// one decodes the record that a query finds; v stays as it is if there is none.
func one[T any](conn *sqlite.Conn, v *T, query string, args ...any) error {
	return record(conn, func(found T) { *v = found }, query, args...)
}

// save runs a statement whose last argument is the record of v.
func save(conn *sqlite.Conn, v any, query string, args ...any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode %T: %w", v, err)
	}
	return run(conn, query, append(args, string(data))...)
}

// errOtherScope is why a database is refused that was read for others.
var errOtherScope = errors.New("the issues here were made from the events of others")

// claim makes the database that of tenant's events, or of everybody's. What was
// read for one can not go on for another: its position has passed over events.
func claim(conn *sqlite.Conn, tenant string) error {
	have, known := "", false
	err := each(conn, func(stmt *sqlite.Stmt) error {
		have, known = stmt.ColumnText(0), true
		return nil
	}, "SELECT tenant FROM scope")
	if err != nil {
		return err
	}
	if !known {
		return run(conn, "INSERT INTO scope (id, tenant) VALUES (1, ?)", tenant)
	}
	if have != tenant {
		return fmt.Errorf("%w: --tenant was %q, now it is %q; use another data directory", errOtherScope, have, tenant)
	}
	return nil
}

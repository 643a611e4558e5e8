// Package sqlitetx runs SQLite transactions that stay correct if the disk is full. It also has
// helpers that read values from query results.
package sqlitetx

import (
	"context"
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// The modes of a transaction.
const (
	BeginWrite = "BEGIN IMMEDIATE" // may write, waits for other writers
	BeginRead  = "BEGIN"           // reads one snapshot of the file
)

// Within runs fn in a transaction, which it interrupts when ctx ends. If SQLite rolls the
// transaction back, for example on a full disk, Within returns an error.
func Within(ctx context.Context, conn *sqlite.Conn, begin string, fn func() error) (err error) {
	conn.SetInterrupt(ctx.Done())
	defer conn.SetInterrupt(nil)
	if err := sqlitex.Execute(conn, begin, nil); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { err = errors.Join(err, RollBack(conn)) }()
	if err := fn(); err != nil {
		return err
	}
	if conn.AutocommitEnabled() {
		return errors.New("the database rolled back the transaction")
	}
	if err := sqlitex.Execute(conn, "COMMIT", nil); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// RollBack rolls back the open transaction, if there is one.
func RollBack(conn *sqlite.Conn) error {
	if conn.AutocommitEnabled() {
		return nil
	}
	conn.SetInterrupt(nil)
	if err := sqlitex.Execute(conn, "ROLLBACK", nil); err != nil {
		return fmt.Errorf("roll back: %w", err)
	}
	return nil
}

// Bytes returns a copy of a column of the current row.
func Bytes(stmt *sqlite.Stmt, column int) []byte {
	b := make([]byte, stmt.ColumnLen(column))
	return b[:stmt.ColumnBytes(column, b)]
}

// Run executes a prepared statement that returns no rows, and resets it.
func Run(stmt *sqlite.Stmt) error {
	_, err := stmt.Step()
	return errors.Join(err, stmt.Reset())
}

// Exec runs a statement once, without caching it.
func Exec(conn *sqlite.Conn, statement string) error {
	return sqlitex.ExecuteTransient(conn, statement, nil)
}

// Int returns the first column of the first row, or 0 for NULL or no row.
func Int(conn *sqlite.Conn, query string, args ...any) (n int64, err error) {
	err = sqlitex.Execute(conn, query, &sqlitex.ExecOptions{
		Args:       args,
		ResultFunc: func(stmt *sqlite.Stmt) error { n = stmt.ColumnInt64(0); return nil },
	})
	return n, err
}

// Ints returns the first column of all rows. A NULL becomes 0.
func Ints(conn *sqlite.Conn, query string, args ...any) (list []int64, err error) {
	err = sqlitex.Execute(conn, query, &sqlitex.ExecOptions{
		Args:       args,
		ResultFunc: func(stmt *sqlite.Stmt) error { list = append(list, stmt.ColumnInt64(0)); return nil },
	})
	return list, err
}

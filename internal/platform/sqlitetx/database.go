// Package sqlitetx has the few calls that readers and writers of a SQLite file
// repeat: transactions that neither panic nor lie on a full disk, and single values
// out of rows.
package sqlitetx

import (
	"context"
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// How a transaction of [Within] begins.
const (
	BeginWrite = "BEGIN IMMEDIATE" // it may write, and waits for others that do
	BeginRead  = "BEGIN"           // it sees one state of the file
)

// Within runs fn in a transaction that ends with ctx. Unlike the one of sqlitex
// it neither panics when a disk error makes the rollback fail too, nor takes a
// transaction for committed that SQLite undid by itself, as it may on a full disk.
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
		return errors.New("the database undid the transaction")
	}
	if err := sqlitex.Execute(conn, "COMMIT", nil); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// RollBack undoes the transaction, if one is open.
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

// Bytes returns a copy of a column.
func Bytes(stmt *sqlite.Stmt, column int) []byte {
	b := make([]byte, stmt.ColumnLen(column))
	return b[:stmt.ColumnBytes(column, b)]
}

// Run steps a statement that returns no rows and makes it ready for the next time.
func Run(stmt *sqlite.Stmt) error {
	_, err := stmt.Step()
	return errors.Join(err, stmt.Reset())
}

// Exec runs one statement that is not worth keeping.
func Exec(conn *sqlite.Conn, statement string) error {
	return sqlitex.ExecuteTransient(conn, statement, nil)
}

// Int returns the first column of the first row, 0 when it is NULL or there is
// none.
func Int(conn *sqlite.Conn, query string, args ...any) (n int64, err error) {
	err = sqlitex.Execute(conn, query, &sqlitex.ExecOptions{
		Args:       args,
		ResultFunc: func(stmt *sqlite.Stmt) error { n = stmt.ColumnInt64(0); return nil },
	})
	return n, err
}

// Ints returns the first column of all rows, 0 for NULL.
func Ints(conn *sqlite.Conn, query string, args ...any) (list []int64, err error) {
	err = sqlitex.Execute(conn, query, &sqlitex.ExecOptions{
		Args:       args,
		ResultFunc: func(stmt *sqlite.Stmt) error { list = append(list, stmt.ColumnInt64(0)); return nil },
	})
	return list, err
}

package ledger

import (
	"context"
	"errors"
	"fmt"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

const (
	beginWrite = "BEGIN IMMEDIATE"
	beginRead  = "BEGIN"
)

// within runs fn in a transaction that ends with ctx. Unlike the one of sqlitex
// it neither panics when a disk error makes the rollback fail too, nor takes a
// transaction for committed that SQLite undid by itself, as it may on a full disk.
func within(ctx context.Context, conn *sqlite.Conn, begin string, fn func() error) (err error) {
	conn.SetInterrupt(ctx.Done())
	defer conn.SetInterrupt(nil)
	if err := sqlitex.Execute(conn, begin, nil); err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { err = errors.Join(err, rollBack(conn)) }()
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

// rollBack undoes the transaction, if one is open.
func rollBack(conn *sqlite.Conn) error {
	if conn.AutocommitEnabled() {
		return nil
	}
	conn.SetInterrupt(nil)
	if err := sqlitex.Execute(conn, "ROLLBACK", nil); err != nil {
		return fmt.Errorf("roll back: %w", err)
	}
	return nil
}

// exec runs one statement that is not worth keeping.
func exec(conn *sqlite.Conn, statement string) error {
	return sqlitex.ExecuteTransient(conn, statement, nil)
}

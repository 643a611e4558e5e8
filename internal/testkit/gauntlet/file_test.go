package gauntlet

import (
	"fmt"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// file is a ledger file that the attacker has open.
type file struct {
	tb   testing.TB
	conn *sqlite.Conn
}

func open(tb testing.TB, path string) *file {
	tb.Helper()
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite)
	if err != nil {
		tb.Fatal(err)
	}
	return &file{tb, conn}
}

func (f *file) close(tb testing.TB) {
	tb.Helper()
	if err := f.conn.Close(); err != nil {
		tb.Fatal(err)
	}
}

func (f *file) do(query string, args ...any) {
	f.tb.Helper()
	if err := sqlitex.Execute(f.conn, query, &sqlitex.ExecOptions{Args: args}); err != nil {
		f.tb.Fatalf("%s: %v", query, err)
	}
}

func (f *file) try(query string) bool {
	return sqlitex.ExecuteTransient(f.conn, query, nil) == nil
}

func (f *file) rows(query string, each func(*sqlite.Stmt), args ...any) {
	f.tb.Helper()
	err := sqlitex.Execute(f.conn, query, &sqlitex.ExecOptions{
		Args: args, ResultFunc: func(stmt *sqlite.Stmt) error { each(stmt); return nil },
	})
	if err != nil {
		f.tb.Fatalf("%s: %v", query, err)
	}
}

func (f *file) ints(query string, args ...any) (all []int64) {
	f.tb.Helper()
	f.rows(query, func(stmt *sqlite.Stmt) { all = append(all, stmt.ColumnInt64(0)) }, args...)
	return all
}

func (f *file) texts(query string, args ...any) (all []string) {
	f.tb.Helper()
	f.rows(query, func(stmt *sqlite.Stmt) { all = append(all, stmt.ColumnText(0)) }, args...)
	return all
}

// shift moves the leaves from n on, and all references to them, by the given number of positions.
func (f *file) shift(n, by int64) {
	f.tb.Helper()
	for _, table := range []string{"leaves", "payloads", "seen", "chunks"} {
		f.do(fmt.Sprintf("UPDATE %s SET leaf = -leaf - 1 WHERE leaf >= ?", table), n)
		f.do(fmt.Sprintf("UPDATE %s SET leaf = -leaf - 1 + ? WHERE leaf < 0", table), by)
	}
}

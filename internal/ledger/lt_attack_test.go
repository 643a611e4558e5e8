package ledger

import (
	"fmt"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"
)

// attack opens a copy of a ledger and changes it. It returns the copy, or false
// if SQLite did not allow the change.
func attack(tb testing.TB, path string, statements ...string) (string, bool) {
	tb.Helper()
	to := copyLedger(tb, path)
	conn, err := sqlite.OpenConn(to, sqlite.OpenReadWrite)
	if err != nil {
		tb.Fatal(err)
	}
	var failed error
	for _, s := range statements {
		if failed = sqlitex.ExecuteScript(conn, s, nil); failed != nil {
			break
		}
	}
	if err := conn.Close(); err != nil {
		tb.Fatal(err)
	}
	return to, failed == nil
}

// dump is all that a ledger's tables hold, as text.
func dump(path string) (string, error) {
	f, err := openFile(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.close() }() // it was read only
	var b strings.Builder
	for _, table := range []string{"producers", "runs", "leaves", "payloads", "blobs", "chunks", "hashes", "seen", "checkpoints"} {
		err := sqlitex.Execute(f.conn, "SELECT * FROM "+table+" NOT INDEXED ORDER BY 1, 2", &sqlitex.ExecOptions{
			ResultFunc: func(stmt *sqlite.Stmt) error {
				for i := range stmt.ColumnCount() {
					fmt.Fprintf(&b, "%s|", columnBytes(stmt, i))
				}
				b.WriteByte('\n')
				return nil
			},
		})
		if err != nil {
			return "", err
		}
	}
	return b.String(), nil
}

// notes returns the signed checkpoints of a ledger.
func notes(tb testing.TB, path string) (all []string) {
	tb.Helper()
	conn, err := openFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = conn.close() }() // it was read only
	stmt := conn.conn.Prep("SELECT note FROM checkpoints ORDER BY checkpoint")
	for {
		row, err := stmt.Step()
		if err != nil {
			tb.Fatal(err)
		}
		if !row {
			return all
		}
		all = append(all, stmt.ColumnText(0))
	}
}

// putNotes replaces the checkpoints of a ledger.
func putNotes(tb testing.TB, path string, all []string) string {
	tb.Helper()
	statements := []string{"DELETE FROM checkpoints"}
	for i, note := range all {
		c, err := ReadCheckpoint([]byte(note))
		if err != nil {
			tb.Fatal(err)
		}
		statements = append(statements, fmt.Sprintf("INSERT INTO checkpoints VALUES (%d, %d, '%s')", i+1, c.Size, note))
	}
	to, ok := attack(tb, path, statements...)
	if !ok {
		tb.Fatal("the attack did not work")
	}
	return to
}

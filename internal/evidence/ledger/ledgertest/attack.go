package ledgertest

import (
	"fmt"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
)

// Attack executes SQL statements on a copy of a ledger and returns the path of the copy. It returns
// false if SQLite refused a statement.
func Attack(tb testing.TB, path string, statements ...string) (string, bool) {
	tb.Helper()
	to := CopyFile(tb, path)
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

// Dump returns the rows of all tables of a ledger as text.
func Dump(path string) (string, error) {
	f, err := ledger.OpenFile(path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it was read only
	var b strings.Builder
	for _, table := range []string{"producers", "runs", "leaves", "payloads", "blobs", "chunks", "hashes", "seen", "checkpoints"} {
		err := sqlitex.Execute(f.Conn, "SELECT * FROM "+table+" NOT INDEXED ORDER BY 1, 2", &sqlitex.ExecOptions{
			ResultFunc: func(stmt *sqlite.Stmt) error {
				for i := range stmt.ColumnCount() {
					fmt.Fprintf(&b, "%s|", sqlitetx.Bytes(stmt, i))
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

// Notes returns the signed checkpoints of a ledger, the oldest first.
func Notes(tb testing.TB, path string) (all []string) {
	tb.Helper()
	conn, err := ledger.OpenFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = conn.Close() }() // it was read only
	stmt := conn.Conn.Prep("SELECT note FROM checkpoints ORDER BY checkpoint")
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

// PutNotes copies a ledger, replaces all checkpoints in the copy by the given signed notes, and
// returns the path of the copy.
func PutNotes(tb testing.TB, path string, all []string) string {
	tb.Helper()
	statements := []string{"DELETE FROM checkpoints"}
	for i, note := range all {
		c, err := ledger.ReadCheckpoint([]byte(note))
		if err != nil {
			tb.Fatal(err)
		}
		statements = append(statements, fmt.Sprintf("INSERT INTO checkpoints VALUES (%d, %d, '%s')", i+1, c.Size, note))
	}
	to, ok := Attack(tb, path, statements...)
	if !ok {
		tb.Fatal("the attack did not work")
	}
	return to
}

package verifier_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/ledgertest"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/testkit/race"
)

// tables has the key column of each table.
var tables = map[string]string{
	"producers": "producer", "runs": "run", "leaves": "leaf", "payloads": "leaf", "blobs": "blob",
	"chunks": "part", "hashes": "chunk", "seen": "seen", "checkpoints": "checkpoint",
}

//guarantee:tampering
//guarantee:verify-rows
func TestGauntlet_RowsOfEveryTable(t *testing.T) {
	f, key := ledgertest.GauntletFeed(), ledgertest.NewKey(t)
	path := ledgertest.Write(t, t.TempDir(), key, f, 40)
	r := ledgertest.Verify(t, path, key, verifier.Options{})
	if r.Integrity != verifier.Verified || r.SetApart != 3 {
		t.Fatalf("before any attack: %+v", r)
	}
	attacks := 0
	try := func(what string, statements ...string) {
		t.Helper()
		if to, ok := ledgertest.Attack(t, path, statements...); ok {
			attacks++
			ledgertest.WantInvalid(t, to, key, what)
		}
	}
	for table, id := range tables {
		columns := columnsOf(t, path, table)
		for _, c := range columns {
			for _, where := range []string{"min", "max"} {
				row := fmt.Sprintf("WHERE %[1]s = (SELECT %[2]s(%[1]s) FROM %[3]s)", id, where, table)
				try(fmt.Sprintf("edit %s.%s of the %s row", table, c.name, where),
					fmt.Sprintf("UPDATE %s SET %s = %s %s", table, c.name, c.other(), row))
			}
		}
		for what, where := range map[string]string{
			"first": "(SELECT min(%[1]s) FROM %[2]s)", "last": "(SELECT max(%[1]s) FROM %[2]s)",
			"middle": "(SELECT (max(%[1]s) + min(%[1]s)) / 2 FROM %[2]s)",
		} {
			try("delete the "+what+" row of "+table,
				fmt.Sprintf("DELETE FROM %[2]s WHERE %[1]s = "+where, id, table))
		}
		try("empty "+table, "DELETE FROM "+table)
		list := selection(columns, "")
		// The new row equals the last one, except for its key and unique columns.
		try("duplicate the last row of "+table, fmt.Sprintf(`INSERT INTO %[1]s (%[2]s) SELECT %[3]s FROM %[1]s
			WHERE %[4]s = (SELECT max(%[4]s) FROM %[1]s)`, table, list, selection(columns, id), id))
		try("insert a row in front of "+table, fmt.Sprintf(`INSERT INTO %[1]s (%[2]s) SELECT %[3]s FROM %[1]s
			WHERE %[4]s = (SELECT min(%[4]s) FROM %[1]s)`, table, list, strings.Replace(selection(columns, id), "+ 1", "- 1", 1), id))
		if table != "chunks" {
			try("swap two rows of "+table,
				fmt.Sprintf("UPDATE %[1]s SET %[2]s = -1000 WHERE %[2]s = (SELECT min(%[2]s) + 1 FROM %[1]s)", table, id),
				fmt.Sprintf("UPDATE %[1]s SET %[2]s = (SELECT min(%[2]s) + 2 FROM %[1]s WHERE %[2]s >= 0) - 1 + 0 WHERE %[2]s = (SELECT max(%[2]s) FROM %[1]s)", table, id))
		}
	}
	for _, s := range []string{
		"CREATE TRIGGER t AFTER INSERT ON leaves BEGIN DELETE FROM payloads; END",
		"CREATE INDEX i ON leaves (kind)", "DROP INDEX leaves_run", "CREATE VIEW v AS SELECT 1",
		"CREATE TABLE more (a)", "PRAGMA user_version = 7", "PRAGMA application_id = 1",
		"DROP TABLE checkpoints; CREATE VIEW checkpoints (checkpoint, size, note) AS " +
			"WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n, n, n FROM r",
		"DROP TABLE seen", "ALTER TABLE leaves ADD COLUMN more",
	} {
		try(s, s)
	}
	t.Logf("%d attacks", attacks)
	if attacks < 100 {
		t.Errorf("got %d attacks that SQLite let happen, want at least 100", attacks)
	}
}

type column struct{ name, kind string }

// other returns an SQL expression for another value of the column.
func (c column) other() string {
	switch c.kind {
	case "INTEGER":
		return "coalesce(" + c.name + ", 0) + 1"
	case "TEXT":
		return c.name + " || 'x'"
	}
	return fmt.Sprintf("CAST(%[1]s || x'00' AS BLOB)", c.name)
}

func columnsOf(tb testing.TB, path, table string) (all []column) {
	tb.Helper()
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadOnly)
	if err != nil {
		tb.Fatal(err)
	}
	defer conn.Close()
	err = sqlitex.Execute(conn, "SELECT name, type FROM pragma_table_info(?)", &sqlitex.ExecOptions{
		Args: []any{table}, ResultFunc: func(stmt *sqlite.Stmt) error {
			all = append(all, column{stmt.ColumnText(0), stmt.ColumnText(1)})
			return nil
		},
	})
	if err != nil || len(all) == 0 {
		tb.Fatalf("columns of %s: %v", table, err)
	}
	return all
}

// selection lists columns as SQL. If id is set, unique columns get other values.
func selection(columns []column, id string) string {
	list := make([]string, len(columns))
	for i, c := range columns {
		switch {
		case id != "" && c.name == id:
			list[i] = id + " + 1"
		case id != "" && (c.name == "name" || c.name == "id"):
			list[i] = c.name + " || 'x'"
		case id != "" && c.name == "hash" && len(columns) == 3: // of blobs
			list[i] = "randomblob(32)"
		default:
			list[i] = c.name
		}
	}
	return strings.Join(list, ", ")
}

//guarantee:tampering
//guarantee:verify-bits
func TestGauntlet_BitFlips(t *testing.T) {
	f, key := ledgertest.GauntletFeed(), ledgertest.NewKey(t)
	path := ledgertest.Write(t, t.TempDir(), key, f, 100)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want, err := ledgertest.Dump(path)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	flips := race.Size(600, 60)
	if testing.Short() {
		flips = 50
	}
	harmless := 0
	to := filepath.Join(t.TempDir(), ledger.FileName)
	for range flips {
		at, bit := random.IntN(len(data)), random.IntN(8)
		if random.IntN(4) == 0 {
			at = random.IntN(100) // header of the file
		}
		data[at] ^= 1 << bit
		if err := os.WriteFile(to, data, 0o600); err != nil {
			t.Fatal(err)
		}
		data[at] ^= 1 << bit
		r := ledgertest.Verify(t, to, key, verifier.Options{Tenant: "acme"})
		if r.Integrity == verifier.Invalid {
			continue
		}
		// The flipped bit is in unused space, so the contents must be the same.
		harmless++
		if got, err := ledgertest.Dump(to); err != nil || got != want {
			t.Errorf("bit %d of byte %d (page %d, offset %d): %s, and the content differs (%v)",
				bit, at, at/pageSize+1, at%pageSize, r.Integrity, err)
		}
	}
	t.Logf("%d flips, %d of them in unused space", flips, harmless)
}

const pageSize = 8192

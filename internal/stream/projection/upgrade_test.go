package projection_test

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/stream/projection"
)

func TestOpen_Upgrades(t *testing.T) {
	path := filepath.Join(t.TempDir(), "p.db")
	db := open(t, path)
	if err := db.Tx(t.Context(), add(3)); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	third := schema
	third.Version, third.Tables = 3, "CREATE TABLE seen (n INTEGER PRIMARY KEY, twice INTEGER, thrice INTEGER) STRICT;"
	third.Upgrades = map[int64]string{1: "no SQL", 2: "ALTER TABLE seen ADD thrice INTEGER; UPDATE seen SET thrice = 3 * n;"}
	if _, err := projection.Open(t.Context(), path, third, quiet); err == nil || !strings.Contains(err.Error(), "upgrade from version 1") {
		t.Errorf("a wrong script: got %v", err)
	}
	if n := count(t, path); n != 1 { // still version 1
		t.Errorf("got %d rows after a failure, want 1", n)
	}
	third.Upgrades[1] = "ALTER TABLE seen ADD twice INTEGER; UPDATE seen SET twice = 2 * n;"
	err := projection.Read(t.Context(), path, third, func(*sqlite.Conn) error { return nil })
	if err != nil {
		t.Errorf("read before the upgrade: %v", err)
	}
	for range 2 {
		upgraded, err := projection.Open(t.Context(), path, third, quiet)
		if err != nil {
			t.Fatal(err)
		}
		err = upgraded.Tx(t.Context(), func(conn *sqlite.Conn) error {
			return sqlitex.Execute(conn, "SELECT twice, thrice FROM seen", &sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
				if stmt.ColumnInt(0) != 6 || stmt.ColumnInt(1) != 9 {
					t.Errorf("got %d and %d, want 6 and 9", stmt.ColumnInt(0), stmt.ColumnInt(1))
				}
				return nil
			}})
		})
		if err := errors.Join(err, upgraded.Close()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := projection.Open(t.Context(), path, schema, quiet); !errors.Is(err, projection.ErrSchema) {
		t.Errorf("the older program: got %v, want %v", err, projection.ErrSchema)
	}
}

package metrics

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// toVersion1 changes a database to version 1, in which each activity had the hashes of its events.
func toVersion1(t *testing.T, dir string) {
	t.Helper()
	conn, err := sqlite.OpenConn(statePath(dir), sqlite.OpenReadWrite)
	if err != nil {
		t.Fatal(err)
	}
	err = sqlitex.ExecuteScript(conn, `
		ALTER TABLE thing RENAME TO thing2;
		CREATE TABLE thing (kind INTEGER NOT NULL, tenant TEXT NOT NULL, run TEXT NOT NULL, id TEXT NOT NULL, label TEXT NOT NULL,
			status TEXT NOT NULL, started INTEGER NOT NULL, ended INTEGER NOT NULL, measured INTEGER NOT NULL, seen BLOB NOT NULL,
			PRIMARY KEY (kind, tenant, run, id)) STRICT, WITHOUT ROWID;
		INSERT INTO thing SELECT kind, tenant, run, id, label, status, started, ended, measured,
			(SELECT unhex(group_concat(hex(event), '')) FROM seen WHERE thing = number) FROM thing2;
		DROP TABLE thing2;
		DROP TABLE seen;
		DROP TABLE sums;
		DROP TABLE costs;
		DROP TRIGGER tokens_added;
		DROP TRIGGER tokens_removed;
		PRAGMA user_version = 1;`, nil)
	if err := errors.Join(err, conn.Close()); err != nil {
		t.Fatal(err)
	}
}

func TestState_UpgradesVersion1(t *testing.T) {
	dir := t.TempDir()
	first := recorded(t)
	long := make([]events.Event, 101) // of one call
	for i := range long {
		long[i] = event(t, i%10, events.ToolBefore, events.ToolBeforeData{Tool: "Bash"}, call("long"), func(e *events.Event) {
			e.ID, e.Sequence = fmt.Sprint("x", i), uint64(100+i)
		})
	}
	first = append(first, long...)
	if err := apply(t, dir, 100, messages(1, first...)...); err != nil {
		t.Fatal(err)
	}
	want := dump(t, dir)
	toVersion1(t, dir)
	if diff := cmp.Diff(want, dump(t, dir)); diff != "" { // a reader before the upgrade
		t.Errorf("series (-want +got):\n%s", diff)
	}
	again := messages(1000, first...) // the same events count nothing
	if err := apply(t, dir, 100, again...); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, dump(t, dir)); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
	checkSums(t, dir)
	end := event(t, 30, events.ToolResult, events.ToolResultData{Status: events.ToolSuccess}, call("long"))
	if err := apply(t, dir, 100, messages(2000, end)...); err != nil {
		t.Fatal(err)
	}
	if got := values(t, dir)[`tool_calls_total["acme","Bash","success"]`]; got != "2" {
		t.Errorf("got %s successful calls, want 2", got)
	}
}

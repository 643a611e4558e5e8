package metrics

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"testing"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Many events of one call do not make the row of the call larger.
func TestState_ManyEventsOfACall(t *testing.T) {
	dir := t.TempDir()
	size := func(first, last int) (n int64) {
		var all []events.Event
		for i := first; i < last; i++ {
			all = append(all, event(t, i, events.ToolBefore, events.ToolBeforeData{Tool: "Bash"}, call("c1")))
		}
		if err := apply(t, dir, 100, messages(first+1, all...)...); err != nil {
			t.Fatal(err)
		}
		conn, err := sqlite.OpenConn(statePath(dir), sqlite.OpenReadOnly)
		if err != nil {
			t.Fatal(err)
		}
		err = sqlitex.Execute(conn, `SELECT * FROM thing`, &sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
			for i := range stmt.ColumnCount() {
				n += int64(stmt.ColumnLen(i))
			}
			return nil
		}})
		if err := errors.Join(err, conn.Close()); err != nil {
			t.Fatal(err)
		}
		return n
	}
	few := size(0, 10)
	if many := size(10, 500); many > few+int64(sha256.Size) {
		t.Errorf("the call has %d bytes after 10 events and %d after 500", few, many)
	}
}

// Each event costs the same, however many events the call has.
func BenchmarkHostile_OneCall(b *testing.B) {
	dir := b.TempDir()
	const size = 1000
	n := 0
	for b.Loop() {
		all := make([]events.Event, size)
		for i := range all {
			all[i] = event(b, i, events.ToolBefore, events.ToolBeforeData{Tool: "Bash"}, call("c1"), func(e *events.Event) {
				e.ID, e.Sequence = fmt.Sprint("x", n), uint64(n+1)
			})
			n++
		}
		if err := apply(b, dir, 100, messages(n, all...)...); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(n), "µs/event")
}

package metrics

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
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

// The sums are those of the reported tokens, in whatever order and at whatever level they arrive.
func TestState_SumsOfTokens(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir := t.TempDir()
		var all []events.Event
		for n := range rapid.IntRange(1, 20).Draw(rt, "events") {
			used := &events.Tokens{Input: rapid.Int64Range(0, 9).Draw(rt, "input"), Output: 1}
			if rapid.Bool().Draw(rt, "none") {
				used = nil
			}
			role := rapid.SampledFrom([]string{"", "coder", "planner", "judge", "scout"}).Draw(rt, "role")
			id := fmt.Sprint(rapid.IntRange(0, 3).Draw(rt, "id"))
			change := func(e *events.Event) { e.AgentRole, e.Step = role, id }
			switch rapid.IntRange(0, 2).Draw(rt, "level") {
			case 0:
				all = append(all, event(t, n, events.ResponseCompleted, events.ResponseCompletedData{Message: id, TokensUsed: used}, change))
			case 1:
				all = append(all, event(t, n, events.StepFinished, events.StepFinishedData{StepStatus: events.StepCompleted, TokensUsed: used}, change))
			case 2:
				all = append(all, event(t, n, events.RunFinished, events.RunFinishedData{TokensUsed: used}, change))
			}
		}
		if err := apply(t, dir, 3, messages(1, all...)...); err != nil {
			rt.Fatal(err)
		}
		checkSums(t, dir)
	})
}

func checkSums(t *testing.T, dir string) {
	t.Helper()
	conn, err := sqlite.OpenConn(statePath(dir), sqlite.OpenReadOnly)
	if err != nil {
		t.Fatal(err)
	}
	got, want := map[string]string{}, map[string]string{}
	for query, into := range map[string]map[string]string{
		`SELECT concat_ws('/', tenant, run, level, role), concat_ws(' ', input, output, cache_creation, cache_read) FROM sums
			WHERE input + output + cache_creation + cache_read > 0`: got,
		`SELECT concat_ws('/', tenant, run, level, role), concat_ws(' ', sum(input), sum(output), sum(cache_creation), sum(cache_read))
			FROM tokens GROUP BY tenant, run, level, role`: want,
	} {
		err = errors.Join(err, sqlitex.Execute(conn, query, &sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
			into[stmt.ColumnText(0)] = stmt.ColumnText(1)
			return nil
		}}))
	}
	if err := errors.Join(err, conn.Close()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("sums (-want +got):\n%s", diff)
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

// A response that reports tokens and then none changes the level that counts, each time.
func BenchmarkHostile_Levels(b *testing.B) {
	for _, steps := range []int{100, 10_000} {
		b.Run(fmt.Sprint(steps), func(b *testing.B) {
			dir := b.TempDir()
			var all []events.Event
			for i := range steps {
				all = append(all, event(b, i, events.StepFinished, events.StepFinishedData{TokensUsed: &events.Tokens{Input: 1}}, step(fmt.Sprint(i))))
			}
			if err := apply(b, dir, 100, messages(1, all...)...); err != nil {
				b.Fatal(err)
			}
			n := steps
			for b.Loop() {
				for i := range all[:100] {
					payload := events.ResponseCompletedData{Message: "m"}
					if i%2 == 0 {
						payload.TokensUsed = &events.Tokens{Input: 1}
					}
					all[i] = event(b, n, events.ResponseCompleted, payload)
					n++
				}
				if err := apply(b, dir, 100, messages(n, all[:100]...)...); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// A client chooses the texts of run_status and step_status. They must neither have a meaning of the
// service, nor use up the values of the label that all tenants share.
//
//guarantee:one-reading
func TestState_InventedStatuses(t *testing.T) {
	dir, mallory := t.TempDir(), func(e *events.Event) { e.Tenant, e.Producer = "mallory", "m" }
	finished := func(n int, status string) events.Event {
		return event(t, n, events.RunFinished, events.RunFinishedData{RunStatus: events.RunStatus(status)}, run(fmt.Sprint("r", n)), mallory)
	}
	ended := func(n int, status string) events.Event {
		return event(t, n, events.StepFinished, events.StepFinishedData{StepStatus: events.StepStatus(status)}, step(fmt.Sprint("s", n)), mallory)
	}
	const others = 10
	all := []events.Event{
		finished(0, deniedSuccess), finished(1, active), finished(2, "FAILED"), ended(3, deniedSuccess), ended(4, active), ended(5, ""),
	}
	for n := range others {
		all = append(all, finished(len(all), fmt.Sprint("text ", n)))
	}
	all = append(all, event(t, len(all), events.RunFinished, events.RunFinishedData{RunStatus: events.RunFailed}))
	if err := apply(t, dir, 5, messages(1, all...)...); err != nil {
		t.Fatal(err)
	}
	got := values(t, dir)
	maps.DeleteFunc(got, func(k, v string) bool {
		return v == "0" || !strings.HasPrefix(k, "runs_") && !strings.HasPrefix(k, "steps_") && !strings.HasPrefix(k, "tool_results_after")
	})
	if diff := cmp.Diff(map[string]string{
		`runs_total["mallory","unknown","unknown"]`: "12", `runs_total["mallory","unknown","failed"]`: "1",
		`steps_total["mallory","CODER","unknown"]`: "3", `runs_total["acme","unknown","failed"]`: "1",
	}, got); diff != "" {
		t.Errorf("series (-want +got):\n%s", diff)
	}
}

package agentfs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/pkg/events"
)

func history(t *testing.T, rt *rapid.T) ledger {
	t.Helper()
	var l ledger
	for n := range rapid.IntRange(1, 60).Draw(rt, "events") {
		id := fmt.Sprintf("r%d", rapid.IntRange(0, 4).Draw(rt, "run"))
		within := func(e *events.Event) {
			run(id)(e)
			e.Agent = rapid.SampledFrom([]string{"coder", "planner"}).Draw(rt, "agent")
			e.ParentRun = rapid.SampledFrom([]string{"", "r0", "r1"}).Draw(rt, "parent")
			e.ToolCall = fmt.Sprintf("c%d", rapid.IntRange(0, 3).Draw(rt, "call"))
			e.Step = fmt.Sprintf("s%d", rapid.IntRange(0, 2).Draw(rt, "step"))
		}
		ok := rapid.Bool().Draw(rt, "ok")
		switch rapid.IntRange(0, 6).Draw(rt, "kind") {
		case 0:
			l = append(l, event(t, n, events.RunStarted, events.RunStartedData{Title: fmt.Sprint(n)}, within))
		case 1:
			l = append(l, event(t, n, events.ToolBefore, events.ToolBeforeData{Tool: fmt.Sprint("T", n)}, within))
		case 2:
			p := events.ToolResultData{Status: events.ToolSuccess, DurationMS: int64(n)}
			if !ok {
				p.Status = events.ToolError
			}
			l = append(l, event(t, n, events.ToolResult, p, within))
		case 3:
			p := events.StepFinishedData{StepStatus: events.StepRunning, OutputSummary: fmt.Sprint(n)}
			if ok {
				p.StepStatus = events.StepFailed
			}
			l = append(l, event(t, n, events.StepFinished, p, within))
		case 4:
			l = append(l, event(t, n, events.RunFinished, events.RunFinishedData{Success: ok}, within))
		case 5:
			l = append(l, event(t, n, events.MessageCreated, events.MessageData{Role: "user"}, within))
		case 6:
			l = append(l, []byte(`{"v":1}`))
		}
	}
	return l
}

// bothWays projects a ledger in one call, and in many calls of drawn sizes. Every second call comes
// after a restart, or after the routes or a named file were lost.
func bothWays(
	t *testing.T, rt *rapid.T, records int, upTo func(n int) Source, chunk int, more *rapid.Generator[int], files ...string,
) (once, often map[string]map[string][][]string) {
	t.Helper()
	whole, pieces := t.TempDir(), t.TempDir()
	opts := Options{Interval: time.Nanosecond, RowsPerFile: rapid.Int64Range(1, 20).Draw(rt, "rows per file")}
	w := Open(whole, opts)
	if err := errors.Join(w.Sync(t.Context(), "acme", upTo(records)), w.Close()); err != nil {
		rt.Fatal(err)
	}
	opts.ChunkEvents = chunk
	w = Open(pieces, opts)
	accidents := []func() error{
		w.Close, // a restart
		func() error { return errors.Join(w.Close(), os.RemoveAll(filepath.Join(pieces, ".routes"))) },
	}
	for _, name := range files {
		accidents = append(accidents, func() error { return os.RemoveAll(filepath.Join(pieces, name)) })
	}
	for n := 0; n < records; {
		n = min(records, n+more.Draw(rt, "new"))
		if which := rapid.IntRange(0, 2*len(accidents)-1).Draw(rt, "accident"); which < len(accidents) {
			if err := accidents[which](); err != nil {
				rt.Fatal(err)
			}
		}
		if err := w.Sync(t.Context(), "acme", upTo(n)); err != nil {
			rt.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		rt.Fatal(err)
	}
	return dumpAll(t, whole), dumpAll(t, pieces)
}

// Batches, restarts and losses do not change the files.
//
//guarantee:consumer-killed
func TestSync_SameFilesWhateverTheBatches(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		l := history(t, rt)
		once, often := bothWays(t, rt, len(l), func(n int) Source { return l[:n] }, 3, rapid.IntRange(1, 20), "coder__acme.db")
		if diff := cmp.Diff(once, often); diff != "" {
			rt.Errorf("files (-once +often):\n%s", diff)
		}
	})
}

func TestSync_Routes(t *testing.T) {
	dir := t.TempDir()
	tool := events.ToolBeforeData{Tool: "Bash"}
	project(t, dir, ledger{
		event(t, 0, events.PromptSubmit, events.PromptSubmitData{}, func(e *events.Event) { e.Run, e.Agent = "main", "foreman" }),
		event(t, 1, events.ToolBefore, tool, call("1"), func(e *events.Event) { e.Run, e.Agent, e.ParentAgent = "main", "coder", "foreman" }),
		event(t, 2, events.ToolBefore, tool, call("2"), func(e *events.Event) { e.Run, e.Agent, e.ParentRun = "sub", "a1", "main" }),
		event(t, 3, events.ToolBefore, tool, call("3"), func(e *events.Event) { e.Run, e.Agent, e.ParentRun = "subsub", "a2", "sub" }),
		event(t, 4, events.ToolBefore, tool, call("4"), func(e *events.Event) { e.Run, e.Agent, e.AgentFS = "named", "coder", "gwi.1" }),
		event(t, 5, events.ToolBefore, tool, call("5"), func(e *events.Event) { e.Run, e.Agent, e.AgentFS = "named", "coder", "gwi2" }),
		event(t, 6, events.ToolBefore, tool, call("6"), func(e *events.Event) { e.Run, e.Agent = "bare", "" }),
		event(t, 7, events.ToolBefore, tool, call("7"), func(e *events.Event) { e.Run = "" }),
		event(t, 8, events.ToolBefore, tool, call("8"), func(e *events.Event) { e.Run, e.Agent, e.ParentRun = "orphan", "a3", "unknown" }),
	})
	got := map[string][]string{}
	for name, tables := range dumpAll(t, dir) {
		for _, row := range tables["rows"] {
			got[name] = append(got[name], row[0])
		}
	}
	want := map[string][]string{
		"foreman__acme.db":    {"tool:main:1", "tool:sub:2", "tool:subsub:3"},
		"gwi_x2E1__acme.db":   {"tool:named:4", "tool:named:5"},
		"_x2Fengine__acme.db": {"tool:bare:6"},
		"a3__acme.db":         {"tool:orphan:8"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows by file (-want +got):\n%s", diff)
	}
}

func TestSync_NextFile(t *testing.T) {
	dir := t.TempDir()
	var l ledger
	for n := range 10 {
		l = append(l, event(t, n, events.ToolBefore, events.ToolBeforeData{Tool: "Bash"}, call(fmt.Sprint(n)), run(fmt.Sprintf("r%d", n/3))))
	}
	w := Open(dir, Options{RowsPerFile: 2})
	if err := errors.Join(w.Sync(t.Context(), "acme", l), w.Close()); err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	for name, tables := range dumpAll(t, dir) {
		got[name] = len(tables["calls"])
	}
	if diff := cmp.Diff(map[string]int{"coder__acme.db": 6, "coder__acme__2.db": 4}, got); diff != "" {
		t.Errorf("rows by file (-want +got):\n%s", diff)
	}
}

func hold(t *testing.T, path string) (release func()) {
	t.Helper()
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadWrite|sqlite.OpenCreate)
	if err != nil {
		t.Fatal(err)
	}
	if err := executeAll(conn, []string{"BEGIN EXCLUSIVE"}); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := conn.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

//guarantee:agentfs-busy
func TestSync_BusyFileWaitsWhileOthersGoOn(t *testing.T) {
	dir := t.TempDir()
	agent := func(name string) func(*events.Event) {
		return func(e *events.Event) { e.Run, e.Agent = name, name }
	}
	var l ledger
	for n := range 6 {
		l = append(l, event(t, n, events.ToolBefore, events.ToolBeforeData{Tool: "Bash"}, call(fmt.Sprint(n)), agent(fmt.Sprint("a", n%2))))
	}
	w := Open(dir, Options{Interval: time.Nanosecond})
	if err := w.Sync(t.Context(), "acme", l[:2]); err != nil {
		t.Fatal(err)
	}
	release := hold(t, filepath.Join(dir, "a0__acme.db"))
	for _, n := range []int{4, 6} {
		if err := w.Sync(t.Context(), "acme", l[:n]); !errors.Is(err, ErrBusy) {
			t.Fatalf("got %v, want %v", err, ErrBusy)
		}
	}
	if n := len(query(t, filepath.Join(dir, "a1__acme.db"), `SELECT 1 FROM tool_calls`)); n != 3 {
		t.Errorf("the other file: got %d rows, want 3", n)
	}
	release()
	if err := errors.Join(w.Sync(t.Context(), "acme", l), w.Close()); err != nil {
		t.Fatal(err)
	}
	if n := len(query(t, filepath.Join(dir, "a0__acme.db"), `SELECT 1 FROM tool_calls`)); n != 3 {
		t.Errorf("the busy file: got %d rows, want 3", n)
	}
}

func TestSync_RebuildKeepsForeignRows(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "coder__acme.db")
	l := recorded(t)
	project(t, dir, l)
	before := dump(t, path)
	foreign(t, path, `UPDATE hooktrail_state SET value = 'another ledger' WHERE name = 'hash'`)
	project(t, dir, l) // the routes have no new records
	project(t, dir, append(l, event(t, 12, events.ToolBefore, events.ToolBeforeData{Tool: "Bash"}, call("c9"))))
	after := dump(t, path)
	checkForeign(t, path)
	var ours [][]string
	for _, row := range after["calls"] {
		if row[1] != "own" {
			ours = append(ours, row)
		}
	}
	if diff := cmp.Diff(before["calls"], ours[:len(before["calls"])]); diff != "" {
		t.Errorf("rows after the rebuild (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before["values"], after["values"]); diff != "" {
		t.Errorf("values after the rebuild (-want +got):\n%s", diff)
	}
}

func TestSync_OlderCopyCatchesUp(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "coder__acme.db")
	l := recorded(t)
	project(t, dir, l[:5])
	older, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	project(t, dir, l[:11])
	if err := os.WriteFile(path, older, 0o600); err != nil {
		t.Fatal(err)
	}
	project(t, dir, l)
	fresh := t.TempDir()
	project(t, fresh, l)
	if diff := cmp.Diff(dumpAll(t, fresh), dumpAll(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestSync_FileThatIsNoDatabaseIsNamed(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "coder__acme.db"), []byte("not a database, but long enough to be read as one: 100 bytes of header are wanted, so here are some more"), 0o600); err != nil {
		t.Fatal(err)
	}
	w := Open(dir, Options{})
	err := w.Sync(t.Context(), "acme", recorded(t))
	if sqlite.ErrCode(err).ToPrimary() != sqlite.ResultNotADB || errors.Is(err, ErrBusy) {
		t.Errorf("got %v, want %v", err, sqlite.ResultNotADB)
	}
	if err == nil || !strings.Contains(err.Error(), "delete") {
		t.Errorf("%v does not say what to do", err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestSync_CancelledCallGoesOnLater(t *testing.T) {
	dir := t.TempDir()
	l := recorded(t)
	w := Open(dir, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Sync(ctx, "acme", l); !errors.Is(err, context.Canceled) && sqlite.ErrCode(err) != sqlite.ResultInterrupt {
		t.Errorf("got %v, want a cancelled call", err)
	}
	if err := errors.Join(w.Sync(t.Context(), "acme", l), w.Close()); err != nil {
		t.Fatal(err)
	}
	if n := len(query(t, filepath.Join(dir, "coder__acme.db"), `SELECT 1 FROM tool_calls`)); n != 9 {
		t.Errorf("got %d rows, want 9", n)
	}
}

// Only few routes databases stay open, however many tenants there are.
func TestSync_ManyTenants(t *testing.T) {
	w := Open(t.TempDir(), Options{Interval: time.Nanosecond})
	for n := range maxRoutes + 3 {
		if err := w.Sync(t.Context(), fmt.Sprintf("t%d", n), recorded(t)[:1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Sync(t.Context(), "t0", recorded(t)); err != nil { // its routes were closed
		t.Fatal(err)
	}
	open := 0
	for _, t := range w.tenants {
		if t.routes != nil {
			open++
		}
	}
	if open != maxRoutes {
		t.Errorf("got %d routes open, want %d", open, maxRoutes)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

func TestSync_PacesItself(t *testing.T) {
	var l ledger
	for n := range 30 {
		l = append(l, event(t, n, events.ToolBefore, events.ToolBeforeData{Tool: "Bash"}, call(fmt.Sprint(n))))
	}
	const interval = 30 * time.Millisecond
	w := Open(t.TempDir(), Options{Interval: interval, ChunkEvents: 10})
	began := time.Now()
	if err := errors.Join(w.Sync(t.Context(), "acme", l), w.Close()); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < 2*interval {
		t.Errorf("three commits to one file took %v, want at least %v", took, 2*interval)
	}
}

func BenchmarkSync(b *testing.B) {
	var l ledger
	for n := range 20_000 {
		kind, payload := events.ToolBefore, any(events.ToolBeforeData{Tool: "Bash"})
		if n%2 == 1 {
			kind, payload = events.ToolResult, events.ToolResultData{Status: events.ToolSuccess}
		}
		l = append(l, event(b, n, kind, payload, call(fmt.Sprint(n/2))))
	}
	b.ReportAllocs()
	for b.Loop() {
		project(b, b.TempDir(), l)
	}
	b.ReportMetric(float64(b.N*len(l))/b.Elapsed().Seconds(), "events/s")
}

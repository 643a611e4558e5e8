package agentfs

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/pkg/events"
)

type ledger [][]byte

func (l ledger) After(ctx context.Context, leaf int64) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for i := leaf + 1; i < int64(len(l)); i++ {
			if ctx.Err() != nil {
				yield(Entry{}, ctx.Err())
				return
			}
			if !yield(l.entry(i), nil) {
				return
			}
		}
	}
}

func (l ledger) entry(i int64) Entry {
	e := Entry{Leaf: i, Hash: events.HashOf(l[i]), Event: l[i]}
	if bytes.HasPrefix(l[i], []byte(`{"v"`)) { // a manifest
		e.Event = nil
	}
	return e
}

func (l ledger) Run(ctx context.Context, name string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for entry, err := range l.After(ctx, -1) {
			e, fault := events.Decode(entry.Event)
			if err == nil && (entry.Event == nil || fault != nil || e.Run != name) {
				continue
			}
			if !yield(entry, err) {
				return
			}
		}
	}
}

func (l ledger) Erased(context.Context, int64) iter.Seq2[Erasure, error] {
	return func(func(Erasure, error) bool) {}
}

type erasing struct {
	ledger

	orders map[int64]int64 // leaf → leaf of the order
}

func (l erasing) After(ctx context.Context, leaf int64) iter.Seq2[Entry, error] {
	return l.without(l.ledger.After(ctx, leaf))
}

func (l erasing) Run(ctx context.Context, name string) iter.Seq2[Entry, error] {
	return l.without(l.ledger.Run(ctx, name))
}

func (l erasing) without(entries iter.Seq2[Entry, error]) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		for e, err := range entries {
			if order, ok := l.orders[e.Leaf]; ok && order < int64(len(l.ledger)) {
				e.Event = nil
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

func (l erasing) Erased(_ context.Context, order int64) iter.Seq2[Erasure, error] {
	var all []Erasure
	for leaf, by := range l.orders {
		e, err := events.Decode(l.ledger[min(leaf, int64(len(l.ledger))-1)])
		if err == nil && e.Run != "" && order < by && by < int64(len(l.ledger)) {
			all = append(all, Erasure{Order: by, Run: e.Run})
		}
	}
	slices.SortFunc(all, func(a, b Erasure) int { return int(a.Order - b.Order) })
	return func(yield func(Erasure, error) bool) {
		for _, e := range all {
			if !yield(e, nil) {
				return
			}
		}
	}
}

var t0 = time.Date(2026, 3, 1, 10, 0, 0, 250_000_000, time.UTC)

// event returns the nth event of a ledger, in run "r1" of tenant "acme". Events are one second
// apart.
func event(tb testing.TB, n int, kind events.Kind, payload any, change ...func(*events.Event)) []byte {
	tb.Helper()
	e := events.Event{
		ID: fmt.Sprintf("e%d", n), Source: "/engine", Type: kind.Type(), Time: t0.Add(time.Duration(n) * time.Second),
		Tenant: "acme", Producer: "p", Sequence: uint64(n + 1), Run: "r1", Agent: "coder", Subject: "r1",
	}
	for _, c := range change {
		c(&e)
	}
	if err := e.SetData(payload); err != nil {
		tb.Fatal(err)
	}
	return e.Encode()
}

func call(id string) func(*events.Event) { return func(e *events.Event) { e.ToolCall = id } }
func step(id string) func(*events.Event) { return func(e *events.Event) { e.Step = id } }
func run(id string) func(*events.Event)  { return func(e *events.Event) { e.Run, e.Subject = id, id } }

func recorded(tb testing.TB) ledger {
	tb.Helper()
	return ledger{
		event(tb, 0, events.RunStarted, events.RunStartedData{RunType: "resolve", Title: "fix it"}),
		[]byte(`{"v":1,"tenant":"acme","producer":"p"}`),
		event(tb, 2, events.ToolBefore, events.ToolBeforeData{Tool: "Bash", Args: json.RawMessage(`{"command":"ls"}`)}, call("c1")),
		event(tb, 3, events.ToolResult, events.ToolResultData{Status: events.ToolSuccess, Result: json.RawMessage(`"a.go"`)}, call("c1")),
		event(tb, 4, events.ToolBefore, events.ToolBeforeData{Tool: "Read", Args: json.RawMessage(`{"path":"x"}`)}, call("c:2")),
		event(tb, 5, events.ToolResult, events.ToolResultData{Status: events.ToolError, Error: &events.Failure{Message: "no such file"}}, call("c:2")),
		event(tb, 6, events.ToolBefore, events.ToolBeforeData{Tool: "Write"}, call("c3")),
		event(tb, 7, events.ToolBefore, events.ToolBeforeData{Tool: "Bash", Outcome: events.Outcome{Verdict: events.VerdictDeny, Reason: "rm -rf"}}, call("c4")),
		event(tb, 8, events.ToolResult, events.ToolResultData{Tool: "Glob", Status: events.ToolSuccess}, call("c5")),
		event(tb, 9, events.StepFinished, events.StepFinishedData{
			AgentRole: "CODER", StepStatus: events.StepCompleted, InputSummary: "in", OutputSummary: "out", DurationMS: 2500,
			TokensUsed: &events.Tokens{Input: 10, Output: 5},
		}, step("s1")),
		event(tb, 10, events.StepFinished, events.StepFinishedData{
			AgentRole: "VALIDATOR", StepStatus: events.StepFailed, Error: &events.Failure{Message: "tests fail"},
		}, step("s2")),
		event(tb, 11, events.RunFinished, events.RunFinishedData{
			DurationMS: 11_000, Steps: 2, Error: &events.Failure{Message: "tests fail"},
		}),
	}
}

func project(tb testing.TB, dir string, l Source) {
	tb.Helper()
	w := Open(dir, Options{Interval: time.Nanosecond})
	if err := w.Sync(tb.Context(), "acme", l); err != nil {
		tb.Fatal(err)
	}
	if err := w.Close(); err != nil {
		tb.Fatal(err)
	}
}

func query(tb testing.TB, path, q string) [][]string {
	tb.Helper()
	conn, err := sqlite.OpenConn(path, sqlite.OpenReadOnly)
	if err != nil {
		tb.Fatal(err)
	}
	defer conn.Close()
	var rows [][]string
	err = sqlitex.ExecuteTransient(conn, q, &sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
		row := make([]string, stmt.ColumnCount())
		for i := range row {
			row[i] = stmt.ColumnText(i)
			if stmt.ColumnIsNull(i) {
				row[i] = "NULL"
			}
		}
		rows = append(rows, row)
		return nil
	}})
	if err != nil {
		tb.Fatal(err)
	}
	return rows
}

// dump returns the contents of a file without inode numbers and the times of the root, which depend
// on other rows.
func dump(tb testing.TB, path string) map[string][][]string {
	tb.Helper()
	all := map[string][][]string{}
	for name, q := range map[string]string{
		"calls":    `SELECT * FROM tool_calls WHERE id >= 1048576 ORDER BY id`,
		"values":   `SELECT * FROM kv_store WHERE key <> 'own' ORDER BY key`,
		"files":    `SELECT f.path FROM hooktrail_files f ORDER BY 1`,
		"content":  `SELECT hex(d.data) FROM fs_data d JOIN fs_dentry e ON e.ino = d.ino JOIN hooktrail_files f ON f.path LIKE '%/' || e.name ORDER BY 1`,
		"rows":     `SELECT * FROM hooktrail_rows ORDER BY key`,
		"position": `SELECT * FROM hooktrail_state WHERE name <> 'orders' ORDER BY name`,
	} {
		all[name] = query(tb, path, q)
	}
	return all
}

func dumpAll(tb testing.TB, dir string) map[string]map[string][][]string {
	tb.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.db"))
	if err != nil {
		tb.Fatal(err)
	}
	all := map[string]map[string][][]string{}
	for _, path := range paths {
		all[filepath.Base(path)] = dump(tb, path)
	}
	return all
}

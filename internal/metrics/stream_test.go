package metrics

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/internal/stream/projection"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
)

var t0 = time.Date(2026, 3, 1, 10, 0, 0, 123_456_789, time.UTC)

// event returns event number n of run r1, at t0 plus n seconds.
func event(tb testing.TB, n int, kind events.Kind, payload any, change ...func(*events.Event)) events.Event {
	tb.Helper()
	e := events.Event{
		ID: fmt.Sprintf("e%d", n), Source: "/engine", Type: kind.Type(), Time: t0.Add(time.Duration(n) * time.Second),
		Tenant: "acme", Producer: "p", Sequence: uint64(n + 1), Run: "r1", Subject: "r1", AgentRole: "coder",
	}
	if err := e.SetData(payload); err != nil {
		tb.Fatal(err)
	}
	for _, c := range change {
		c(&e)
	}
	return e
}

func call(id string) func(*events.Event) { return func(e *events.Event) { e.ToolCall = id } }
func step(id string) func(*events.Event) { return func(e *events.Event) { e.Step = id } }
func run(id string) func(*events.Event)  { return func(e *events.Event) { e.Run, e.Subject = id, id } }

func from(producer string, sequence int) func(*events.Event) {
	return func(e *events.Event) { e.Producer, e.Sequence = producer, uint64(sequence) }
}

func messages(first int, all ...events.Event) []consume.Message {
	batch := make([]consume.Message, len(all))
	for i, e := range all {
		seq := uint64(first + i)
		batch[i] = consume.Message{
			Sequence: seq, Data: e.Encode(), Stored: t0.Add(time.Duration(seq) * time.Minute),
			Address: subjects.Address{Tenant: e.Tenant, Producer: e.Producer, Run: e.Run, Kind: e.Kind()},
		}
	}
	return batch
}

func apply(tb testing.TB, dir string, limit int, batch ...consume.Message) error {
	tb.Helper()
	s, err := openState(tb.Context(), dir, "", limit, slog.New(slog.DiscardHandler))
	if err != nil {
		tb.Fatal(err)
	}
	next := consume.Position{Stream: t0}
	if len(batch) > 0 {
		last := batch[len(batch)-1]
		next.Sequence, next.Hash = last.Sequence, events.HashOf(last.Data)
	}
	err = s.Apply(tb.Context(), batch, next)
	if err := s.close(); err != nil {
		tb.Fatal(err)
	}
	return err
}

func dump(tb testing.TB, dir string) map[string]string {
	tb.Helper()
	all := map[string]string{}
	err := projection.Read(tb.Context(), statePath(dir), schema, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(conn, `SELECT metric || labels, value || ' ' || counts FROM series
			WHERE value <> 0 OR counts GLOB '*[1-9]*' UNION ALL SELECT 'label ' || metric || label || value, '' FROM label`,
			&sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
				all[strings.TrimPrefix(stmt.ColumnText(0), "hooktrail_")] = strings.TrimSpace(stmt.ColumnText(1))
				return nil
			}})
	})
	if err != nil {
		tb.Fatal(err)
	}
	return all
}

func values(tb testing.TB, dir string) map[string]string {
	tb.Helper()
	all := dump(tb, dir)
	for name := range all {
		if strings.HasPrefix(name, "label ") || strings.Contains(name, "_seconds") {
			delete(all, name)
		}
	}
	return all
}

// recorded returns the events of a run, with every counted kind.
func recorded(tb testing.TB) []events.Event {
	tb.Helper()
	slow := events.Execution{Hook: "h1", Name: "lint", Point: events.ToolBefore, TimedOut: true}
	fine := events.Execution{Hook: "h2", Success: true}
	return []events.Event{
		event(tb, 0, events.RunStarted, events.RunStartedData{RunType: "resolve"}),
		event(tb, 1, events.ToolBefore, events.ToolBeforeData{Tool: "Bash"}, call("c1")),
		event(tb, 2, events.ToolResult, events.ToolResultData{Status: events.ToolSuccess}, call("c1")),
		event(tb, 3, events.ToolBefore, events.ToolBeforeData{Tool: "Bash"}, call("c2")),
		event(tb, 4, events.ToolResult, events.ToolResultData{Status: events.ToolError, DurationMS: 40}, call("c2")),
		event(tb, 5, events.ToolBefore, events.ToolBeforeData{Tool: "Read"}, call("c3")),
		event(tb, 6, events.ToolBefore, events.ToolBeforeData{
			Tool: "Bash", Outcome: events.Outcome{Verdict: events.VerdictDeny, Executions: []events.Execution{slow, fine}},
		}, call("c4")),
		event(tb, 7, events.ResponseCompleted, events.ResponseCompletedData{
			Message: "m1", TokensUsed: &events.Tokens{Input: 5, Output: 1},
		}),
		event(tb, 8, events.ResponseCompleted, events.ResponseCompletedData{
			Message: "m1", TokensUsed: &events.Tokens{Input: 5, Output: 9, CacheRead: 100, CacheCreation: 10},
		}),
		event(tb, 9, events.ResponseCompleted, events.ResponseCompletedData{Message: "m2", TokensUsed: &events.Tokens{Input: 2}}),
		event(tb, 10, events.StepFinished, events.StepFinishedData{
			AgentRole: "CODER", StepStatus: events.StepFailed, DurationMS: 9000, TokensUsed: &events.Tokens{Input: 7, Output: 9},
		}, step("s1")),
		event(tb, 11, events.RunFinished, events.RunFinishedData{DurationMS: 11_000, TokensUsed: &events.Tokens{Input: 7, Output: 9}, Cost: &events.Cost{USD: 0.25, Estimated: true}}),
	}
}

var recordedValues = map[string]string{
	`runs_total["acme","RESOLVE","failed"]`:            "1",
	`steps_total["acme","CODER","failed"]`:             "1",
	`tool_calls_total["acme","Bash","success"]`:        "1",
	`tool_calls_total["acme","Bash","error"]`:          "1",
	`tool_calls_total["acme","Bash","denied"]`:         "1",
	`tool_calls_active["acme","Read"]`:                 "1",
	`tokens_total["acme","CODER","input"]`:             "7",
	`tokens_total["acme","CODER","output"]`:            "9",
	`tokens_total["acme","CODER","cache_read"]`:        "100",
	`tokens_total["acme","CODER","cache_creation"]`:    "10",
	`hook_failures_total["acme","tool.before","lint"]`: "1",
	`cost_usd_total["acme","true"]`:                    "250000",
}

func history(t *testing.T, rt *rapid.T) []events.Event {
	t.Helper()
	var all []events.Event
	for n := range rapid.IntRange(1, 50).Draw(rt, "events") {
		if n > 0 && rapid.IntRange(0, 4).Draw(rt, "copy") == 0 {
			e := all[rapid.IntRange(0, n-1).Draw(rt, "of")]
			if rapid.Bool().Draw(rt, "other producer") {
				from("q", n+1)(&e)
			}
			all = append(all, e)
			continue
		}
		used := &events.Tokens{Input: rapid.Int64Range(0, 9).Draw(rt, "tokens")}
		if used.Input == 0 {
			used = nil
		}
		within := func(e *events.Event) {
			run(rapid.SampledFrom([]string{"r1", "r2"}).Draw(rt, "run"))(e)
			call(rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "call"))(e)
			step(rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "step"))(e)
			e.AgentRole = rapid.SampledFrom([]string{"", "A", "B", "C", "D"}).Draw(rt, "role")
			e.Time = t0.Add(time.Duration(rapid.Int64Range(0, 1e10).Draw(rt, "time")))
		}
		name := rapid.SampledFrom([]string{"T1", "T2", "T3", "T4", "T5"}).Draw(rt, "name")
		ok := rapid.Bool().Draw(rt, "ok")
		var kind events.Kind
		var payload any
		switch rapid.IntRange(0, 5).Draw(rt, "kind") {
		case 0:
			kind, payload = events.RunStarted, events.RunStartedData{RunType: name}
		case 1:
			kind, payload = events.RunFinished, events.RunFinishedData{Success: ok, TokensUsed: used}
		case 2:
			status := map[bool]events.StepStatus{true: events.StepCompleted, false: events.StepRunning}[ok]
			kind, payload = events.StepFinished, events.StepFinishedData{StepStatus: status, TokensUsed: used, DurationMS: int64(n)}
		case 3:
			kind, payload = events.ToolBefore, events.ToolBeforeData{Tool: name}
		case 4:
			status := map[bool]events.ToolStatus{true: events.ToolSuccess, false: events.ToolError}[ok]
			kind, payload = events.ToolResult, events.ToolResultData{Status: status}
		case 5:
			kind, payload = events.ResponseCompleted, events.ResponseCompletedData{Message: name, TokensUsed: used}
		}
		all = append(all, event(t, n, kind, payload, within))
	}
	return all
}

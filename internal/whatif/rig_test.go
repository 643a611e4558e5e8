package whatif

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/broker"
	"github.com/hooktrail/hooktrail/internal/cli"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// epoch is when the histories of the tests begin.
var epoch = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// event returns an event of kind at second s of a test, with a payload.
func event(tb testing.TB, tenant, run string, s int, kind events.Kind, payload any) events.Event {
	tb.Helper()
	e := events.Event{
		ID: fmt.Sprintf("%s-%s-%03d-%s", tenant, run, s, kind), Source: "/engine", Type: kind.Type(),
		Subject: run, Time: epoch.Add(time.Duration(s) * time.Second), Tenant: tenant, Run: run, RunType: "RESOLVE",
	}
	if err := e.SetData(payload); err != nil {
		tb.Fatal(err)
	}
	return e
}

func step(tb testing.TB, tenant, run string, s int, status events.StepStatus, out string) events.Event {
	tb.Helper()
	e := event(tb, tenant, run, s, events.StepFinished, events.StepFinishedData{
		AgentRole: "CODER", StepStatus: status, OutputSummary: out,
	})
	e.Step = "s1"
	return e
}

// story is a history of two tenants with issues of most kinds in it.
func story(tb testing.TB) []events.Event {
	tb.Helper()
	const deferred = "Done. Out of scope: migrate the schema. Next steps: add retry; write docs; tune the cache; drop the flag"
	simple := event(tb, "acme", "r3", 1, events.RunFinished, events.RunFinishedData{Success: true})
	simple.RunType = "REVIEW"
	failed := step(tb, "beta", "r2", 3, events.StepFailed, "")
	failed.RunType = "TRIAGE"
	return []events.Event{
		event(tb, "acme", "r1", 0, events.RunStarted, events.RunStartedData{RunType: "RESOLVE"}),
		event(tb, "acme", "r1", 1, events.ToolBefore, events.ToolBeforeData{Tool: "Bash"}),
		step(tb, "acme", "r1", 2, events.StepFailed, ""),
		failed,
		step(tb, "acme", "r1", 4, events.StepCompleted, deferred),
		simple,
		event(tb, "acme", "r1", 5, events.Error, events.ErrorData{Error: events.Failure{Message: "boom"}}),
		event(tb, "acme", "r1", 6, events.RunFinished, events.RunFinishedData{Success: true}),
	}
}

// jsonl writes events to a file, one per line.
func jsonl(tb testing.TB, list ...events.Event) string {
	tb.Helper()
	var b bytes.Buffer
	for _, e := range list {
		if err := e.Normalize(); err != nil {
			tb.Fatalf("event %s: %v", e.ID, err)
		}
		b.Write(append(e.Encode(), '\n'))
	}
	return file(tb, "events.jsonl", b.String())
}

func file(tb testing.TB, name, text string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

func read1(tb testing.TB, path string) string {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return string(data)
}

// outcome is what whatif --json prints.
type outcome struct {
	Issues    []Issue     `json:"issues"`
	Decisions []Decision  `json:"decisions"`
	Against   *Comparison `json:"against"`
}

// call runs the command, and returns its exit status and what it printed. There is
// no broker.
func call(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	shared := new(cli.Shared)
	cmd := cli.Group("tracker", "", Command(shared, func(*cobra.Command, func(*broker.Broker) error) error {
		return errors.New("it connects")
	}))
	shared.Register(cmd)
	var out, errs bytes.Buffer
	cmd.SetOut(&out)
	cmd.SetErr(&errs)
	status = cli.Execute(t.Context(), cmd, append([]string{"whatif", "--data-dir", t.TempDir()}, args...))
	return status, out.String(), errs.String()
}

func callJSON[T any](t *testing.T, args ...string) (v T) {
	t.Helper()
	status, stdout, stderr := call(t, append(args, "--json")...)
	if status != cli.ExitOK {
		t.Fatalf("whatif %v: exit status %d: %s", args, status, stderr)
	}
	if err := json.Unmarshal([]byte(stdout), &v); err != nil {
		t.Fatalf("whatif %v: %v in %s", args, err, stdout)
	}
	return v
}

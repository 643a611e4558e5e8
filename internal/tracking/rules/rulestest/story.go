package rulestest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// StoryBegins is the time of second 0 in [At], [StepAt] and [Story].
var StoryBegins = time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)

// At returns an event of a run of the type RESOLVE. It occurs the given number of seconds after
// [StoryBegins].
func At(tb testing.TB, tenant, run string, seconds int, kind events.Kind, payload any) events.Event {
	tb.Helper()
	e := events.Event{
		ID: fmt.Sprintf("%s-%s-%03d-%s", tenant, run, seconds, kind), Source: "/engine", Type: kind.Type(),
		Subject: run, Time: StoryBegins.Add(time.Duration(seconds) * time.Second), Tenant: tenant, Run: run, RunType: "RESOLVE",
	}
	if err := e.SetData(payload); err != nil {
		tb.Fatal(err)
	}
	return e
}

// StepAt returns a step.finished event of the agent role CODER. The parameter out is the summary of
// the step.
func StepAt(tb testing.TB, tenant, run string, seconds int, name string, status events.StepStatus, out string) events.Event {
	tb.Helper()
	e := At(tb, tenant, run, seconds, events.StepFinished, events.StepFinishedData{
		AgentRole: "CODER", StepStatus: status, OutputSummary: out,
	})
	e.Step = name
	return e
}

// Story returns events of two tenants that cause most kinds of issues.
func Story(tb testing.TB) []events.Event {
	tb.Helper()
	const deferred = "Done. Out of scope: migrate the schema. Next steps: add retry; write docs; tune the cache; drop the flag"
	simple := At(tb, "acme", "r3", 1, events.RunFinished, events.RunFinishedData{Success: true})
	simple.RunType = "REVIEW"
	failed := StepAt(tb, "beta", "r2", 3, "s1", events.StepFailed, "")
	failed.RunType = "TRIAGE"
	return []events.Event{
		At(tb, "acme", "r1", 0, events.RunStarted, events.RunStartedData{RunType: "RESOLVE"}),
		At(tb, "acme", "r1", 1, events.ToolBefore, events.ToolBeforeData{Tool: "Bash"}),
		StepAt(tb, "acme", "r1", 2, "s1", events.StepFailed, ""),
		failed,
		StepAt(tb, "acme", "r1", 4, "s1", events.StepCompleted, deferred),
		simple,
		At(tb, "acme", "r1", 5, events.Error, events.ErrorData{Error: events.Failure{Message: "boom"}}),
		At(tb, "acme", "r1", 6, events.RunFinished, events.RunFinishedData{Success: true}),
	}
}

// LongStory returns the events of [Story] and one much later event. By then, no failure waits for a
// success any more.
func LongStory(tb testing.TB) []events.Event {
	tb.Helper()
	return append(Story(tb), At(tb, "beta", "r2", 60, events.ToolBefore, events.ToolBeforeData{Tool: "Bash"}))
}

// Fold applies the events in list to a new State with the default configuration.
func Fold(tb testing.TB, list []events.Event) (*rules.State, []rules.Decision) {
	tb.Helper()
	s := new(rules.State)
	var decisions []rules.Decision
	for _, e := range list {
		d, err := s.Apply(e, rules.DefaultConfig())
		if err != nil {
			tb.Fatal(err)
		}
		decisions = append(decisions, d...)
	}
	return s, decisions
}

// WriteEvents writes events to a temporary file, one per line, and returns its path.
func WriteEvents(tb testing.TB, list ...events.Event) string {
	tb.Helper()
	var b bytes.Buffer
	for _, e := range list {
		if err := e.Normalize(); err != nil {
			tb.Fatalf("event %s: %v", e.ID, err)
		}
		b.Write(append(e.Encode(), '\n'))
	}
	return WriteFile(tb, "events.jsonl", b.String())
}

// WriteFile writes a temporary file and returns its path.
func WriteFile(tb testing.TB, name, text string) string {
	tb.Helper()
	path := filepath.Join(tb.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}

// ReadFile returns the content of a file.
func ReadFile(tb testing.TB, path string) string {
	tb.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		tb.Fatal(err)
	}
	return string(data)
}

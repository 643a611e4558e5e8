package hooks

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/pkg/events"
)

func TestRunnerFromEnv(t *testing.T) {
	const id, on = "GWI_AGENTFS_ID", "true"
	tests := []struct {
		name  string
		env   map[string]string
		hooks string // attribute of the events; empty if nothing is recorded
		warns int
	}{
		{"OffByDefault", nil, "", 0},
		{"AgentFS", map[string]string{EnvAgentFSEnabled: on, id: "gwi"}, "agentfs", 0},
		{"AgentFSWithoutID", map[string]string{EnvAgentFSEnabled: on}, "", 1},
		{"IDAlone", map[string]string{id: "gwi"}, "", 0},
		{"Beads", map[string]string{EnvBeadsEnabled: on}, "beads", 0},
		{"BeadsNeedNoID", map[string]string{EnvBeadsEnabled: on, EnvAgentFSEnabled: on}, "beads", 1},
		{"Both", map[string]string{EnvBeadsEnabled: on, EnvAgentFSEnabled: on, id: "gwi"}, "agentfs,beads", 0},
		{"OnlyTrueEnables", map[string]string{EnvBeadsEnabled: "1", EnvAgentFSEnabled: "TRUE", id: "gwi"}, "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var stderr bytes.Buffer
			recorded := &keeper{t: t}
			r := runnerFromEnv(func(name string) string { return tt.env[name] }, &stderr, recorded)
			at := AgentRun{Tenant: "acme", Run: "r", RunType: "RESOLVE", Step: "s", AgentRole: "CODER", StepStatus: events.StepCompleted, Duration: time.Second}
			r.RunStart(t.Context(), at)
			r.AfterStep(t.Context(), at)
			r.RunEnd(t.Context(), at, true)
			if got := strings.Count(stderr.String(), "level=WARN"); got != tt.warns || r.Hooks() != tt.hooks {
				t.Errorf("got hooks %q and %d warnings, want %q and %d:\n%s", r.Hooks(), got, tt.hooks, tt.warns, stderr.String())
			}
			if tt.hooks == "" {
				if len(recorded.all) > 0 {
					t.Errorf("got %d events", len(recorded.all))
				}
				return
			}
			var kinds []events.Kind
			for _, e := range recorded.all {
				kinds = append(kinds, e.Kind())
				file := ""
				if strings.Contains(tt.hooks, "agentfs") {
					file = "gwi"
				}
				if e.Hooks != tt.hooks || e.AgentFS != file || e.Run != "r" || e.Tenant != "acme" || e.RunType != "RESOLVE" || e.AgentRole != "CODER" {
					t.Errorf("got %+v", e)
				}
			}
			if diff := cmp.Diff([]events.Kind{events.RunStarted, events.StepFinished, events.RunFinished}, kinds); diff != "" {
				t.Errorf("events (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRunnerFromEnv_Timeout(t *testing.T) {
	tests := map[string]time.Duration{
		"": 5 * time.Second, "0": 5 * time.Second, "-1": 5 * time.Second, "soon": 5 * time.Second, "7s": 5 * time.Second,
		"99999999999999999999": 5 * time.Second, "9223372036854775807": 5 * time.Second, "250": 250 * time.Millisecond, "60000": time.Minute,
	}
	for text, want := range tests {
		t.Run(text, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := runnerFromEnv(func(name string) string { return map[string]string{EnvHookTimeout: text}[name] }, &bytes.Buffer{}, nil)
				for _, name := range []string{"a", "b"} {
					if err := r.Use(slow{name}); err != nil {
						t.Fatal(err)
					}
				}
				began := time.Now()
				told := r.AfterStep(t.Context(), AgentRun{Run: "r", Step: "s"})
				if took := time.Since(began); took != want {
					t.Errorf("both hooks took %v, want %v", took, want)
				}
				if len(told.Errors) != 2 || !told.Executions[0].TimedOut || !told.Executions[1].TimedOut {
					t.Errorf("got %+v", told)
				}
				if err := r.Close(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

type slow struct{ name string }

func (s slow) Name() string { return s.name }

func (slow) AfterStep(ctx context.Context, _ Meta, _ events.StepFinishedData) error {
	<-ctx.Done()
	return ctx.Err()
}

func TestRunnerFromEnv_Debug(t *testing.T) {
	for value, want := range map[string]bool{"": false, "true": true, "1": false} {
		var stderr bytes.Buffer
		r := runnerFromEnv(func(name string) string { return map[string]string{EnvHookDebug: value}[name] }, &stderr, nil)
		r.RunStart(t.Context(), AgentRun{Run: "r", InputSummary: "private"})
		if got := strings.Contains(stderr.String(), "level=DEBUG"); got != want || strings.Contains(stderr.String(), "private") {
			t.Errorf("%q: got\n%s", value, stderr.String())
		}
	}
}

func TestRunnerFromEnv_ReadsTheProcess(t *testing.T) {
	t.Setenv(EnvBeadsEnabled, "true")
	t.Setenv(EnvAgentFSEnabled, "")
	if got := RunnerFromEnv(nil).Hooks(); got != "beads" {
		t.Errorf("got %q", got)
	}
}

type switching struct{ steps []string }

func (*switching) IsEnabled(ctx context.Context, m Meta) bool {
	if m.Run == "hanging" {
		<-ctx.Done()
	}
	return m.Run != "off"
}

func (s *switching) AfterStep(_ context.Context, m Meta, _ events.StepFinishedData) error {
	s.steps = append(s.steps, m.Run)
	return nil
}

func TestRunner_IsEnabled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRunner(RunnerOptions{Timeout: time.Second})
		hook := &switching{}
		if err := r.Use(hook); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		for _, run := range []string{"on", "off", "hanging"} {
			told := r.AfterStep(t.Context(), AgentRun{Run: run})
			if want := map[string]int{"on": 1, "off": 0, "hanging": 1}[run]; len(told.Executions) != want {
				t.Errorf("%s: got %+v", run, told)
			}
		}
		if took := time.Since(began); took != time.Second {
			t.Errorf("took %v", took)
		}
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if len(hook.steps) == 0 || hook.steps[0] != "on" || len(hook.steps) > 2 {
			t.Errorf("got %v", hook.steps)
		}
	})
}

func TestRunner_Use(t *testing.T) {
	r := NewRunner(RunnerOptions{})
	if err := r.Use(struct{}{}); err == nil {
		t.Error("no error for what is no hook")
	}
	if err := r.Use(slow{"named"}); err != nil {
		t.Fatal(err)
	}
	if list := r.registry.List(); len(list) != 1 || list[0].Name != "named" {
		t.Errorf("got %+v", list)
	}
}

func TestRunner_Engine(t *testing.T) {
	recorded := &keeper{t: t}
	r := NewRunner(RunnerOptions{Appender: recorded, AgentFS: "gwi"})
	e := r.Engine(Meta{Tenant: "acme", Run: "r"})
	if _, err := e.Tool(t.Context(), ToolCall{Tool: "T"}, func(context.Context, ToolCall) (JSON, error) { return "1", nil }); err != nil {
		t.Fatal(err)
	}
	if len(recorded.all) != 2 || recorded.all[0].Hooks != "agentfs" || recorded.all[0].AgentFS != "gwi" || recorded.all[1].Tenant != "acme" {
		t.Errorf("got %+v", recorded.all)
	}
}

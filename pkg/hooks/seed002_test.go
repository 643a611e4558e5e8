package hooks_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

type pipelineHook struct {
	name  string
	calls *[]string
	do    func(context.Context) error
}

func (h pipelineHook) Name() string { return h.name }

func (h pipelineHook) call(ctx context.Context, method string, m hooks.Meta, detail string) error {
	*h.calls = append(*h.calls, method+" "+m.Run+" "+m.RunType+" "+m.Step+" "+m.AgentRole+" "+detail)
	if h.do == nil {
		return nil
	}
	return h.do(ctx)
}

func (h pipelineHook) RunStart(ctx context.Context, m hooks.Meta, d events.RunStartedData) error {
	return h.call(ctx, "onRunStart", m, d.InputSummary)
}

func (h pipelineHook) AfterStep(ctx context.Context, m hooks.Meta, d events.StepFinishedData) error {
	return h.call(ctx, "onAfterStep", m, string(d.StepStatus)+" "+d.OutputSummary)
}

func (h pipelineHook) RunEnd(ctx context.Context, m hooks.Meta, d events.RunFinishedData) error {
	detail := "failed"
	if d.Success {
		detail = "success"
	}
	return h.call(ctx, "onRunEnd", m, detail)
}

type afterStep func(context.Context) error

func (f afterStep) AfterStep(ctx context.Context, _ hooks.Meta, _ events.StepFinishedData) error {
	return f(ctx)
}

func environment(t *testing.T, values map[string]string) {
	t.Helper()
	for _, name := range []string{hooks.EnvAgentFSEnabled, hooks.EnvAgentFSID, hooks.EnvBeadsEnabled, hooks.EnvHookDebug, hooks.EnvHookTimeout} {
		t.Setenv(name, values[name])
	}
}

func TestSeed002(t *testing.T) {
	step := hooks.AgentRun{
		Tenant: "acme", Run: "run-123", RunType: "RESOLVE", Step: "step-456", AgentRole: "CODER", StepStatus: events.StepCompleted,
		Time: time.Date(2025, 12, 15, 1, 2, 3, 0, time.UTC), InputSummary: "3 conflicts", OutputSummary: "Applied 3 conflict resolutions",
		Duration: 1500 * time.Millisecond, TokensUsed: &events.Tokens{Input: 10, Output: 20}, Metadata: map[string]any{"complexity": 3},
	}
	t.Run("Hooks run when a run starts, after each agent step, and when the run ends", func(t *testing.T) {
		var calls []string
		r := hooks.NewRunner(hooks.RunnerOptions{})
		if err := r.Use(pipelineHook{name: "custom", calls: &calls}); err != nil {
			t.Fatal(err)
		}
		r.RunStart(t.Context(), step)
		r.AfterStep(t.Context(), step)
		r.RunEnd(t.Context(), step, true)
		want := []string{
			"onRunStart run-123 RESOLVE step-456 CODER 3 conflicts",
			"onAfterStep run-123 RESOLVE step-456 CODER completed Applied 3 conflict resolutions",
			"onRunEnd run-123 RESOLVE step-456 CODER success",
		}
		if diff := cmp.Diff(want, calls); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("Hooks run after each agent step of the engine too", func(t *testing.T) {
		var calls []string
		r := hooks.NewRunner(hooks.RunnerOptions{})
		if err := r.Use(pipelineHook{name: "custom", calls: &calls}); err != nil {
			t.Fatal(err)
		}
		e := r.Engine(hooks.Meta{})
		err := e.Run(t.Context(), hooks.RunInfo{ID: "r", Type: "PLAN", Role: "FOREMAN"}, func(ctx context.Context) error {
			_, err := e.Step(ctx, hooks.StepInfo{ID: "s", Role: "PLANNER"}, func(context.Context, hooks.Attempt) (hooks.JSON, error) { return `{}`, nil })
			return err
		})
		want := []string{"onRunStart r PLAN  FOREMAN ", "onAfterStep r PLAN s PLANNER completed ", "onRunEnd r PLAN  FOREMAN success"}
		if diff := cmp.Diff(want, calls); diff != "" || err != nil {
			t.Errorf("error %v (-want +got):\n%s", err, diff)
		}
	})
	t.Run("onRunStart, onRunEnd and isEnabled are optional", func(t *testing.T) {
		r, ran := hooks.NewRunner(hooks.RunnerOptions{}), 0
		if err := r.Use(afterStep(func(context.Context) error { ran++; return nil })); err != nil {
			t.Fatal(err)
		}
		r.RunStart(t.Context(), step)
		r.AfterStep(t.Context(), step)
		r.RunEnd(t.Context(), step, false)
		if ran != 1 {
			t.Errorf("ran %d times", ran)
		}
	})
	t.Run("Every field of AgentRunContext reaches hooks and the audit trail", func(t *testing.T) {
		j := &journal{}
		r := hooks.NewRunner(hooks.RunnerOptions{Appender: j, AgentFS: "gwi", Beads: true})
		r.AfterStep(t.Context(), step)
		e, data := find[events.StepFinishedData](t, j, events.StepFinished, 0)
		if e.Tenant != "acme" || e.Run != "run-123" || e.RunType != "RESOLVE" || e.Step != "step-456" || e.AgentRole != "CODER" || !e.Time.Equal(step.Time) {
			t.Errorf("got %+v", e)
		}
		want := events.StepFinishedData{
			RunType: "RESOLVE", AgentRole: "CODER", StepStatus: events.StepCompleted, InputSummary: "3 conflicts",
			OutputSummary: "Applied 3 conflict resolutions", DurationMS: 1500, TokensUsed: &events.Tokens{Input: 10, Output: 20},
			Metadata: map[string]any{"complexity": 3.0},
		}
		data.Executions = nil
		if diff := cmp.Diff(want, data); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("Hook failures don't crash the main pipeline, and errors are logged, not thrown", func(t *testing.T) {
		var log bytes.Buffer
		var calls []string
		r := hooks.NewRunner(hooks.RunnerOptions{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		for name, do := range map[string]func(context.Context) error{
			"failing": func(context.Context) error { return errors.New("no") }, "panicking": func(context.Context) error { panic("no") },
		} {
			if err := r.Use(pipelineHook{name: name, calls: new([]string), do: do}); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.Use(pipelineHook{name: "fine", calls: &calls}); err != nil {
			t.Fatal(err)
		}
		told := r.AfterStep(t.Context(), step)
		if len(told.Errors) != 2 || len(calls) != 1 || strings.Count(log.String(), "hook failed") != 2 {
			t.Errorf("got %+v, %v, log\n%s", told, calls, log.String())
		}
	})
	t.Run("Hook timeout blocks the pipeline for 5 seconds at most, all hooks together", func(t *testing.T) {
		environment(t, nil)
		synctest.Test(t, func(t *testing.T) {
			r := hooks.RunnerFromEnv(nil)
			for range 3 {
				if err := r.Use(afterStep(func(context.Context) error { time.Sleep(time.Hour); return nil })); err != nil {
					t.Fatal(err)
				}
			}
			began := time.Now()
			told := r.AfterStep(t.Context(), step)
			if took := time.Since(began); took != 5*time.Second || len(told.Errors) != 3 {
				t.Errorf("took %v: %+v", took, told)
			}
			if err := r.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	})
	t.Run("Both hooks are configured via environment and off by default", func(t *testing.T) {
		environment(t, nil)
		j := &journal{}
		r := hooks.RunnerFromEnv(j)
		r.AfterStep(t.Context(), step)
		if r.Hooks() != "" || len(j.events()) != 0 {
			t.Errorf("got %q and %v", r.Hooks(), j.kinds())
		}
	})
	t.Run("GWI_AGENTFS_ENABLED and GWI_AGENTFS_ID enable the audit, GWI_BEADS_ENABLED the tracking", func(t *testing.T) {
		for want, env := range map[string]map[string]string{
			"agentfs":       {hooks.EnvAgentFSEnabled: "true", hooks.EnvAgentFSID: "gwi"},
			"beads":         {hooks.EnvBeadsEnabled: "true"},
			"agentfs,beads": {hooks.EnvBeadsEnabled: "true", hooks.EnvAgentFSEnabled: "true", hooks.EnvAgentFSID: "gwi"},
		} {
			environment(t, env)
			j := &journal{}
			hooks.RunnerFromEnv(j).RunStart(t.Context(), step)
			if e, _ := find[events.RunStartedData](t, j, events.RunStarted, 0); e.Hooks != want || e.AgentFS != env[hooks.EnvAgentFSID] {
				t.Errorf("%s: got %+v", want, e)
			}
		}
	})
	t.Run("GWI_HOOK_TIMEOUT_MS sets the timeout of each hook", func(t *testing.T) {
		environment(t, map[string]string{hooks.EnvHookTimeout: "40"})
		synctest.Test(t, func(t *testing.T) {
			r := hooks.RunnerFromEnv(nil)
			if err := r.Use(afterStep(func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() })); err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			if r.AfterStep(t.Context(), step); time.Since(began) != 40*time.Millisecond {
				t.Errorf("took %v", time.Since(began))
			}
			if err := r.Close(t.Context()); err != nil {
				t.Error(err)
			}
		})
	})
	t.Run("Hooks that are not available are skipped", func(t *testing.T) {
		r := hooks.NewRunner(hooks.RunnerOptions{})
		hook := &unavailable{}
		if err := r.Use(hook); err != nil {
			t.Fatal(err)
		}
		if told := r.AfterStep(t.Context(), step); len(told.Executions) != 0 || hook.asked != 1 {
			t.Errorf("got %+v, asked %d times", told, hook.asked)
		}
	})
	t.Run("New hooks can be added without changing core code", func(t *testing.T) {
		var calls []string
		r := hooks.NewRunner(hooks.RunnerOptions{})
		for _, name := range []string{"telemetry", "notifications"} {
			if err := r.Use(pipelineHook{name: name, calls: new([]string)}); err != nil {
				t.Fatal(err)
			}
		}
		for _, x := range r.AfterStep(t.Context(), step).Executions {
			calls = append(calls, x.Name)
		}
		if slices.Sort(calls); !slices.Equal(calls, []string{"notifications", "telemetry"}) {
			t.Errorf("got %v", calls)
		}
	})
}

type unavailable struct{ asked int }

func (u *unavailable) IsEnabled(context.Context, hooks.Meta) bool { u.asked++; return false }

func (*unavailable) AfterStep(context.Context, hooks.Meta, events.StepFinishedData) error {
	return errors.New("called")
}

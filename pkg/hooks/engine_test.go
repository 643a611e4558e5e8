package hooks_test

import (
	"context"
	"errors"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

type journal struct {
	mu  sync.Mutex // guards all
	all []events.Event
}

func (j *journal) Append(_ context.Context, e events.Event) (events.Event, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.all = append(j.all, e)
	return e, nil
}

func (j *journal) events() []events.Event {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.all)
}

func (j *journal) kinds() []string {
	var list []string
	for _, e := range j.events() {
		list = append(list, string(e.Kind()))
	}
	return list
}

// find returns the n-th event of kind, from 0, and its payload.
func find[T any](t *testing.T, j *journal, kind events.Kind, n int) (e events.Event, data T) {
	t.Helper()
	for _, e = range j.events() {
		if e.Kind() == kind {
			n--
		}
		if n < 0 {
			break
		}
	}
	if n >= 0 {
		t.Fatalf("not enough events of %s", kind)
	}
	data, err := events.Payload[T](e)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Normalize(); err != nil {
		t.Errorf("the event cannot be published: %v", err)
	}
	return e, data
}

func engine(t *testing.T, meta hooks.Meta) (*hooks.Engine, *journal) {
	t.Helper()
	j := &journal{}
	r := hooks.NewRegistry(hooks.Options{Appender: j})
	t.Cleanup(func() {
		if err := r.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if err := r.Err(); err != nil {
			t.Error(err)
		}
	})
	return hooks.NewEngine(r, meta), j
}

func succeed(context.Context, hooks.ToolCall) (hooks.JSON, error) { return `{"ok":true}`, nil }

func TestEngine_Run(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, j := engine(t, hooks.Meta{Tenant: "acme", User: "u", AgentFS: "fs"})
		err := e.Run(t.Context(), hooks.RunInfo{ID: "r", Type: "RESOLVE", Agent: "foreman", Role: "FOREMAN", Title: "fix"}, func(ctx context.Context) error {
			_, err := e.Step(ctx, hooks.StepInfo{ID: "s1", Agent: "coder", Role: "CODER", State: `{"a":1}`}, func(ctx context.Context, _ hooks.Attempt) (hooks.JSON, error) {
				out, err := e.Tool(ctx, hooks.ToolCall{ID: "c1", Tool: "Bash", Args: `{"command":"ls"}`}, func(context.Context, hooks.ToolCall) (hooks.JSON, error) {
					time.Sleep(20 * time.Millisecond)
					return "", errors.New("no such file")
				})
				if err != nil || out.Status != events.ToolError || out.Error != "no such file" {
					t.Errorf("got %+v, %v", out, err)
				}
				hooks.Report(ctx, hooks.Notes{Tokens: events.Tokens{Input: 3, Output: 4}, Files: []string{"b", "a", "b"}, Summary: "done", Metadata: map[string]any{"complexity": 2}})
				return `{"b":2}`, nil
			})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{
			"run.started", "step.before", "tool.before", "error", "tool.result", "step.output", "step.finished", "run.finished",
		}
		if diff := cmp.Diff(want, j.kinds()); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		ev, step := find[events.StepFinishedData](t, j, events.StepFinished, 0)
		if ev.Tenant != "acme" || ev.Run != "r" || ev.Step != "s1" || ev.Agent != "coder" || ev.AgentRole != "CODER" ||
			ev.ParentAgent != "foreman" || ev.RunType != "RESOLVE" || ev.AgentFS != "fs" || ev.User != "u" {
			t.Errorf("attributes: %+v", ev)
		}
		if step.StepStatus != events.StepCompleted || step.DurationMS != 20 || step.ToolCalls != 1 || step.ToolErrors != 1 ||
			step.OutputSummary != "done" || step.TokensUsed == nil || step.TokensUsed.Output != 4 || step.Metadata["complexity"] != 2.0 {
			t.Errorf("step.finished: %+v", step)
		}
		ev, run := find[events.RunFinishedData](t, j, events.RunFinished, 0)
		if !run.Success || run.Reason != "completed" || run.Steps != 1 || run.ToolCalls != 1 || run.ToolErrors != 1 || run.DurationMS != 20 ||
			!slices.Equal(run.Files, []string{"a", "b"}) || run.TokensUsed.Input != 3 || run.OutputSummary != "" {
			t.Errorf("run.finished: %+v", run)
		}
		if ev.Agent != "foreman" || ev.AgentRole != "FOREMAN" || ev.ParentAgent != "" || ev.Step != "" || ev.ToolCall != "" {
			t.Errorf("attributes: %+v", ev)
		}
		ev, tool := find[events.ToolResultData](t, j, events.ToolResult, 0)
		if ev.ToolCall != "c1" || ev.Step != "s1" || tool.DurationMS != 20 || tool.Status != events.ToolError {
			t.Errorf("tool.result: %+v of %+v", tool, ev)
		}
	})
}

func TestEngine_DeniedToolNeverRuns(t *testing.T) {
	e, j := engine(t, hooks.Meta{Run: "r"})
	id := hooks.ToolBefore.On(e.Registry(), func(context.Context, hooks.Meta, hooks.ToolCall) (*hooks.ToolDecision, error) {
		return &hooks.ToolDecision{Verdict: hooks.Deny, Reason: "secret /etc/passwd", Context: "ask a person"}, nil
	}, hooks.Name("no-secrets"))
	out, err := e.Tool(t.Context(), hooks.ToolCall{Tool: "Bash"}, func(context.Context, hooks.ToolCall) (hooks.JSON, error) {
		t.Error("the denied call ran")
		return "", nil
	})
	var denied *hooks.DeniedError
	if !errors.As(err, &denied) || !errors.Is(err, hooks.ErrDenied) || denied.By != id || denied.HookName != "no-secrets" || !strings.HasSuffix(err.Error(), "denied by no-secrets") || denied.Point != events.ToolBefore || denied.Name != "Bash" {
		t.Errorf("got %v", err)
	}
	if strings.Contains(err.Error(), "passwd") {
		t.Errorf("the error quotes the reason: %v", err)
	}
	if out.Status != events.ToolError || out.Error != "secret /etc/passwd" || out.Context != "ask a person" {
		t.Errorf("got %+v", out)
	}
	if got := j.kinds(); !slices.Equal(got, []string{"tool.before"}) {
		t.Errorf("got events %v", got)
	}
}

func TestEngine_PatchedArgsArePassedOn(t *testing.T) {
	e, _ := engine(t, hooks.Meta{})
	hooks.ToolBefore.On(e.Registry(), func(context.Context, hooks.Meta, hooks.ToolCall) (*hooks.ToolDecision, error) {
		return &hooks.ToolDecision{Context: "before", Patch: &hooks.ToolPatch{Args: `{"n":2}`}}, nil
	})
	hooks.ToolResult.On(e.Registry(), func(_ context.Context, _ hooks.Meta, done hooks.ToolDone, o hooks.ToolOutcome) (*hooks.ToolOutcome, error) {
		o.Result, o.Context = done.Call.Args, "after"
		return &o, nil
	})
	out, err := e.Tool(t.Context(), hooks.ToolCall{Tool: "T", Args: `{"n":1}`}, func(_ context.Context, c hooks.ToolCall) (hooks.JSON, error) {
		if c.Args != `{"n":2}` || c.ID == "" {
			t.Errorf("got %+v", c)
		}
		return "1", nil
	})
	want := hooks.ToolOutcome{Status: events.ToolSuccess, Result: `{"n":2}`, Context: "before\n\nafter"}
	if diff := cmp.Diff(want, out); diff != "" || err != nil {
		t.Errorf("error %v, outcome (-want +got):\n%s", err, diff)
	}
}

func TestEngine_Ask(t *testing.T) {
	tests := []struct {
		name   string
		answer *hooks.ApprovalDecision
		reason string // empty if the call is allowed
	}{
		{"Unresolved", nil, "not approved: sure?"},
		{"Allowed", &hooks.ApprovalDecision{Verdict: hooks.Allow, Patch: &hooks.ApprovalPatch{Selected: "allow"}}, ""},
		{"AllowedButSelectedDeny", &hooks.ApprovalDecision{Verdict: hooks.Allow, Patch: &hooks.ApprovalPatch{Selected: "deny"}}, "not approved: sure?"},
		{"Denied", &hooks.ApprovalDecision{Verdict: hooks.Deny, Reason: "not today"}, "not today"},
		{"DeniedWithoutReason", &hooks.ApprovalDecision{Verdict: hooks.Deny}, "not approved: sure?"},
		{"AskedAgain", &hooks.ApprovalDecision{Verdict: hooks.Ask, Reason: "hm"}, "not approved: sure?"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, j := engine(t, hooks.Meta{})
			hooks.ToolBefore.On(e.Registry(), func(context.Context, hooks.Meta, hooks.ToolCall) (*hooks.ToolDecision, error) {
				return &hooks.ToolDecision{Verdict: hooks.Ask, Reason: "sure?", Patch: &hooks.ToolPatch{Args: `{"dry":true}`}}, nil
			})
			hooks.Approval.On(e.Registry(), func(_ context.Context, _ hooks.Meta, r hooks.ApprovalRequest) (*hooks.ApprovalDecision, error) {
				if r.Prompt != "sure?" || r.Call.Args != `{"dry":true}` {
					t.Errorf("got %+v", r)
				}
				return tt.answer, nil
			})
			ran := false
			out, err := e.Tool(t.Context(), hooks.ToolCall{Tool: "T"}, func(context.Context, hooks.ToolCall) (hooks.JSON, error) {
				ran = true
				return "1", nil
			})
			if allowed := tt.reason == ""; ran != allowed || errors.Is(err, hooks.ErrDenied) == allowed || !allowed && out.Error != tt.reason {
				t.Errorf("ran %v, %+v, %v", ran, out, err)
			}
			if !slices.Contains(j.kinds(), "approval") {
				t.Error("the approval is not recorded")
			}
		})
	}
}

func TestEngine_PanicsBecomeResults(t *testing.T) {
	e, j := engine(t, hooks.Meta{})
	err := e.Run(t.Context(), hooks.RunInfo{}, func(ctx context.Context) error {
		out, err := e.Tool(ctx, hooks.ToolCall{Tool: "T"}, func(context.Context, hooks.ToolCall) (hooks.JSON, error) { panic("boom") })
		if err != nil || out.Status != events.ToolError || out.Error != "panicked: boom" || !strings.Contains(out.Stack, "engine_test") {
			t.Errorf("tool: %+v, %v", out, err)
		}
		_, err = e.Step(ctx, hooks.StepInfo{}, func(context.Context, hooks.Attempt) (hooks.JSON, error) { panic(context.DeadlineExceeded) })
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("step: %v", err)
		}
		panic("run")
	})
	var p *hooks.PanicError
	if !errors.As(err, &p) || p.Value != "run" {
		t.Errorf("run: %v", err)
	}
	if _, run := find[events.RunFinishedData](t, j, events.RunFinished, 0); run.Success || run.Error.Class != "panic" || run.Reason != "failed" {
		t.Errorf("run.finished: %+v", run)
	}
	if _, step := find[events.StepFinishedData](t, j, events.StepFinished, 0); step.StepStatus != events.StepFailed {
		t.Errorf("step.finished: %+v", step)
	}
}

func TestEngine_ReportsFunctionsThatEndTheirGoroutine(t *testing.T) {
	e, j := engine(t, hooks.Meta{})
	var wg sync.WaitGroup
	wg.Go(func() {
		_ = e.Run(t.Context(), hooks.RunInfo{}, func(ctx context.Context) error {
			_, _ = e.Step(ctx, hooks.StepInfo{}, func(ctx context.Context, _ hooks.Attempt) (hooks.JSON, error) {
				_, _ = e.Tool(ctx, hooks.ToolCall{Tool: "T"}, func(context.Context, hooks.ToolCall) (hooks.JSON, error) {
					exit()
					return "", nil
				})
				return "", nil
			})
			return nil
		})
	})
	wg.Wait()
	if _, run := find[events.RunFinishedData](t, j, events.RunFinished, 0); run.Success || run.ToolErrors != 1 || run.Unanswered != 0 {
		t.Errorf("run.finished: %+v", run)
	}
	if _, step := find[events.StepFinishedData](t, j, events.StepFinished, 0); step.StepStatus != events.StepFailed {
		t.Errorf("step.finished: %+v", step)
	}
}

func TestEngine_ExitCode(t *testing.T) {
	e, j := engine(t, hooks.Meta{})
	out, err := e.Tool(t.Context(), hooks.ToolCall{Tool: "Bash"}, func(ctx context.Context, _ hooks.ToolCall) (hooks.JSON, error) {
		return `"partial"`, exec.CommandContext(ctx, "sh", "-c", "exit 3").Run()
	})
	if err != nil || out.ExitCode == nil || *out.ExitCode != 3 || out.Result != `"partial"` {
		t.Errorf("got %+v, %v", out, err)
	}
	if _, data := find[events.ToolResultData](t, j, events.ToolResult, 0); data.ExitCode == nil || *data.ExitCode != 3 {
		t.Errorf("got %+v", data)
	}
}

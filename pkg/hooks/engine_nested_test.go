package hooks_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

func exit() { runtime.Goexit() }

func TestEngine_Subagent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, j := engine(t, hooks.Meta{Tenant: "acme", Session: "s"})
		hooks.SubagentStart.On(e.Registry(), func(context.Context, hooks.Meta, hooks.Subagent) (*hooks.SubagentDecision, error) {
			return &hooks.SubagentDecision{Context: "be brief", Patch: &hooks.SubagentPatch{Model: "small"}}, nil
		})
		err := e.Run(t.Context(), hooks.RunInfo{ID: "r", Agent: "lead", Type: "PLAN"}, func(ctx context.Context) error {
			return e.Subagent(ctx, hooks.Subagent{ID: "a1", Name: "scout", Model: "large", TaskType: "explore"},
				func(ctx context.Context, start hooks.SubagentOutcome) error {
					if start.Input.Model != "small" || start.Context != "be brief" {
						t.Errorf("got %+v", start)
					}
					time.Sleep(time.Second)
					hooks.Report(ctx, hooks.Notes{Tokens: events.Tokens{Input: 10, Output: 5}, Files: []string{"x"}})
					_, err := e.Tool(ctx, hooks.ToolCall{Tool: "Grep"}, succeed)
					return err
				})
		})
		if err != nil {
			t.Fatal(err)
		}
		want := []string{"run.started", "subagent.start", "run.started", "tool.before", "tool.result", "run.finished", "subagent.stopped", "run.finished"}
		if diff := cmp.Diff(want, j.kinds()); diff != "" {
			t.Errorf("events (-want +got):\n%s", diff)
		}
		ev, run := find[events.RunFinishedData](t, j, events.RunFinished, 0)
		if ev.Run != "s/a1" || ev.ParentRun != "r" || ev.Agent != "scout" || ev.ParentAgent != "lead" || ev.Session != "s" || run.RunType != "PLAN" || run.ToolCalls != 1 {
			t.Errorf("the sub-agent's run: %+v, %+v", ev, run)
		}
		ev, stopped := find[events.SubagentStoppedData](t, j, events.SubagentStopped, 0)
		if ev.Run != "r" || ev.Agent != "lead" || stopped.Subagent != "a1" || stopped.Model != "small" || stopped.Status != hooks.SubagentCompleted ||
			stopped.DurationMS != 1000 || stopped.TotalTokens != 15 || stopped.ToolCalls != 1 || !slices.Equal(stopped.Files, []string{"x"}) {
			t.Errorf("subagent.stopped: %+v, %+v", ev, stopped)
		}
		ev, run = find[events.RunFinishedData](t, j, events.RunFinished, 1)
		if ev.Run != "r" || ev.ParentRun != "" || run.TokensUsed != nil || run.ToolCalls != 0 {
			t.Errorf("the parent's run counts the sub-agent's work: %+v", run)
		}
	})
}

func TestEngine_SubagentDenied(t *testing.T) {
	for _, verdict := range []hooks.Verdict{hooks.Deny, hooks.Ask} {
		e, j := engine(t, hooks.Meta{})
		hooks.SubagentStart.On(e.Registry(), func(context.Context, hooks.Meta, hooks.Subagent) (*hooks.SubagentDecision, error) {
			return &hooks.SubagentDecision{Verdict: verdict, Reason: "too many"}, nil
		})
		err := e.Subagent(t.Context(), hooks.Subagent{ID: "a"}, func(context.Context, hooks.SubagentOutcome) error {
			t.Error("the denied sub-agent ran")
			return nil
		})
		if !errors.Is(err, hooks.ErrDenied) || slices.Contains(j.kinds(), "run.started") {
			t.Errorf("%s: got %v, events %v", verdict, err, j.kinds())
		}
	}
}

func TestEngine_SubagentStatus(t *testing.T) {
	for want, err := range map[string]error{"completed": nil, "error": errors.New("no"), "timeout": context.DeadlineExceeded} {
		e, j := engine(t, hooks.Meta{Run: "r", Agent: "lead"})
		got := e.Subagent(t.Context(), hooks.Subagent{ID: "a"}, func(context.Context, hooks.SubagentOutcome) error { return err })
		if !errors.Is(got, err) {
			t.Errorf("got %v, want %v", got, err)
		}
		if _, data := find[events.SubagentStoppedData](t, j, events.SubagentStopped, 0); data.Status != want {
			t.Errorf("got %s, want %s", data.Status, want)
		}
		if ev, _ := find[events.RunStartedData](t, j, events.RunStarted, 0); ev.Run != "r/a" || ev.ParentRun != "r" || ev.ParentAgent != "lead" || ev.Agent != "a" {
			t.Errorf("got %+v", ev)
		}
	}
}

func TestEngine_Session(t *testing.T) {
	e, j := engine(t, hooks.Meta{})
	hooks.SessionStart.On(e.Registry(), func(context.Context, hooks.Meta, hooks.Session) (*hooks.SessionDecision, error) {
		return &hooks.SessionDecision{Context: "we use tabs", Patch: &hooks.SessionPatch{Config: `{"depth":1}`}}, nil
	})
	err := e.Session(t.Context(), "s", hooks.Session{Model: "m"}, func(ctx context.Context, start hooks.SessionOutcome) error {
		if start.Context != "we use tabs" || start.Input.Config != `{"depth":1}` {
			t.Errorf("got %+v", start)
		}
		return e.Run(ctx, hooks.RunInfo{ID: "r"}, func(ctx context.Context) error {
			hooks.Report(ctx, hooks.Notes{Tokens: events.Tokens{Input: 1}})
			return e.Subagent(ctx, hooks.Subagent{ID: "a"}, func(ctx context.Context, _ hooks.SubagentOutcome) error {
				hooks.Report(ctx, hooks.Notes{Tokens: events.Tokens{Input: 2}, Files: []string{"f"}})
				_, err := e.Tool(ctx, hooks.ToolCall{Tool: "T"}, succeed)
				return err
			})
		})
	})
	if err != nil {
		t.Fatal(err)
	}
	ev, ended := find[events.SessionEndedData](t, j, events.SessionEnded, 0)
	if ev.Session != "s" || ev.Run != "s" || ended.Reason != "completed" || ended.TokensUsed == nil || ended.TokensUsed.Input != 3 || ended.ToolCalls != 1 || !slices.Equal(ended.Files, []string{"f"}) {
		t.Errorf("session.ended: %+v of %+v", ended, ev)
	}
}

func TestEngine_RunsOfASession(t *testing.T) {
	e, j := engine(t, hooks.Meta{})
	nameless := func(ctx context.Context) error {
		return e.Run(ctx, hooks.RunInfo{}, func(context.Context) error { return nil })
	}
	err := e.Session(t.Context(), "s", hooks.Session{}, func(ctx context.Context, _ hooks.SessionOutcome) error {
		hooks.PromptSubmit.Dispatch(ctx, e.Registry(), e.Meta(ctx), hooks.Prompt{})
		return errors.Join(nameless(ctx), nameless(ctx))
	})
	if err != nil {
		t.Fatal(err)
	}
	if ev, _ := find[events.PromptSubmitData](t, j, events.PromptSubmit, 0); ev.Run != "s" {
		t.Errorf("got %+v", ev)
	}
	first, _ := find[events.RunStartedData](t, j, events.RunStarted, 0)
	second, _ := find[events.RunStartedData](t, j, events.RunStarted, 1)
	if first.Run == second.Run || first.Run == "s" || second.Run == "" || first.ParentRun != "" {
		t.Errorf("got runs %q and %q", first.Run, second.Run)
	}
	around := hooks.NewEngine(e.Registry(), hooks.Meta{Run: "outer"})
	if err := around.Session(t.Context(), "s2", hooks.Session{}, func(context.Context, hooks.SessionOutcome) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if ev, _ := find[events.SessionEndedData](t, j, events.SessionEnded, 1); ev.Run != "outer" || ev.Session != "s2" {
		t.Errorf("got %+v", ev)
	}
}

func TestEngine_StepInNoRun(t *testing.T) {
	e, j := engine(t, hooks.Meta{})
	if _, err := e.Step(t.Context(), hooks.StepInfo{}, func(context.Context, hooks.Attempt) (hooks.JSON, error) { return `{}`, nil }); err != nil {
		t.Fatal(err)
	}
	find[events.StepFinishedData](t, j, events.StepFinished, 0) // checks that events can be published
}

func TestEngine_Cancelled(t *testing.T) {
	e, j := engine(t, hooks.Meta{})
	told := false
	hooks.RunFinished.On(e.Registry(), func(ctx context.Context, _ hooks.Meta, _ events.RunFinishedData) error {
		told = ctx.Err() == nil
		return nil
	})
	ctx, cancel := context.WithCancel(t.Context())
	err := e.Run(ctx, hooks.RunInfo{}, func(ctx context.Context) error {
		_, err := e.Tool(ctx, hooks.ToolCall{Tool: "T"}, func(ctx context.Context, _ hooks.ToolCall) (hooks.JSON, error) {
			cancel()
			return "", ctx.Err()
		})
		if err != nil {
			t.Errorf("the call was made, got %v", err)
		}
		never := func() { t.Error("called after the end") }
		if out, err := e.Tool(ctx, hooks.ToolCall{Tool: "T"}, func(context.Context, hooks.ToolCall) (hooks.JSON, error) { never(); return "", nil }); !errors.Is(err, context.Canceled) || out.Status != events.ToolError {
			t.Errorf("got %+v, %v", out, err)
		}
		if err := e.Subagent(ctx, hooks.Subagent{}, func(context.Context, hooks.SubagentOutcome) error { never(); return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("got %v", err)
		}
		_, err = e.Step(ctx, hooks.StepInfo{}, func(context.Context, hooks.Attempt) (hooks.JSON, error) { never(); return "", nil })
		if m := e.Meta(ctx); !m.Stopped || m.StepCount != 1 {
			t.Errorf("got %+v", m)
		}
		return err
	})
	if !errors.Is(err, context.Canceled) || !told {
		t.Errorf("got %v, told %v", err, told)
	}
	if _, step := find[events.StepFinishedData](t, j, events.StepFinished, 0); step.StepStatus != events.StepSkipped {
		t.Errorf("step.finished: %+v", step)
	}
	if _, run := find[events.RunFinishedData](t, j, events.RunFinished, 0); run.Reason != "cancelled" || run.ToolCalls != 2 {
		t.Errorf("run.finished: %+v", run)
	}
	if slices.Contains(j.kinds(), "error") {
		t.Error("a cancellation is no error")
	}
}

func TestEngine_Concurrent(t *testing.T) {
	e, j := engine(t, hooks.Meta{})
	const n = 50
	err := e.Run(t.Context(), hooks.RunInfo{ID: "r"}, func(ctx context.Context) error {
		var wg sync.WaitGroup
		for range n {
			wg.Go(func() {
				_, err := e.Step(ctx, hooks.StepInfo{}, func(ctx context.Context, _ hooks.Attempt) (hooks.JSON, error) {
					hooks.Report(ctx, hooks.Notes{Tokens: events.Tokens{Input: 1}, Metadata: map[string]any{"k": 1}})
					_, err := e.Tool(ctx, hooks.ToolCall{Tool: "T"}, succeed)
					return "{}", err
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, run := find[events.RunFinishedData](t, j, events.RunFinished, 0); run.TokensUsed.Input != n || run.Steps != n || run.ToolCalls != n || run.Unanswered != 0 {
		t.Errorf("run.finished: %+v", run)
	}
}

func TestEngine_SequenceIsOfTheRun(t *testing.T) {
	e, _ := engine(t, hooks.Meta{})
	var got []uint64
	hooks.ToolBefore.On(e.Registry(), func(_ context.Context, m hooks.Meta, _ hooks.ToolCall) (*hooks.ToolDecision, error) {
		got = append(got, m.Sequence)
		return nil, nil
	})
	for range 2 {
		_ = e.Run(t.Context(), hooks.RunInfo{}, func(ctx context.Context) error {
			_, err := e.Tool(ctx, hooks.ToolCall{Tool: "T"}, succeed)
			return err
		})
	}
	if !slices.Equal(got, []uint64{2, 2}) {
		t.Errorf("got %v", got)
	}
}

func TestEngine_WithoutRegistry(t *testing.T) {
	e := hooks.NewEngine(nil, hooks.Meta{})
	err := e.Session(t.Context(), "", hooks.Session{}, func(ctx context.Context, _ hooks.SessionOutcome) error {
		return e.Run(ctx, hooks.RunInfo{}, func(ctx context.Context) error {
			out, err := e.Step(ctx, hooks.StepInfo{State: `{"a":1}`}, func(ctx context.Context, a hooks.Attempt) (hooks.JSON, error) {
				o, err := e.Tool(ctx, hooks.ToolCall{Args: a.State}, func(_ context.Context, c hooks.ToolCall) (hooks.JSON, error) { return c.Args, nil })
				return o.Result, err
			})
			if out != `{"a":1}` {
				t.Errorf("got %s", out)
			}
			return err
		})
	})
	if err != nil {
		t.Error(err)
	}
}

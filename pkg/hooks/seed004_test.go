package hooks_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

func forAgent(t *testing.T, agent string) hooks.Option {
	t.Helper()
	m, err := hooks.ForAgent(agent)
	if err != nil {
		t.Fatal(err)
	}
	return hooks.Match(m)
}

func pre(calls *[]string, name string, add hooks.JSON) func(context.Context, hooks.Meta, hooks.Step) (*hooks.StepDecision, error) {
	return func(_ context.Context, m hooks.Meta, s hooks.Step) (*hooks.StepDecision, error) {
		*calls = append(*calls, name+" "+m.Agent+" "+string(s.State))
		if add == "" {
			return nil, nil
		}
		return &hooks.StepDecision{Patch: &hooks.StepPatch{State: add}}, nil
	}
}

func post(calls *[]string, name string, to hooks.JSON) func(context.Context, hooks.Meta, hooks.StepState, hooks.JSON) (*hooks.JSON, error) {
	return func(_ context.Context, _ hooks.Meta, s hooks.StepState, out hooks.JSON) (*hooks.JSON, error) {
		*calls = append(*calls, name+" "+s.Agent+" "+string(s.State)+" "+string(out))
		if to == "" {
			return nil, nil
		}
		return &to, nil
	}
}

func execute(t *testing.T, e *hooks.Engine, agent string) hooks.JSON {
	t.Helper()
	out, err := e.Step(t.Context(), hooks.StepInfo{Agent: agent, State: `{"seed":1}`}, func(_ context.Context, a hooks.Attempt) (hooks.JSON, error) { return a.State, nil })
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestSeed004(t *testing.T) {
	t.Run("AC1 hooks are stored for the specified agents, or for all with *", func(t *testing.T) {
		e, _ := engine(t, hooks.Meta{})
		var calls []string
		hooks.StepBefore.On(e.Registry(), pre(&calls, "one", ""), forAgent(t, "analyst"))
		hooks.StepBefore.On(e.Registry(), pre(&calls, "all", ""), forAgent(t, "*"))
		execute(t, e, "analyst")
		execute(t, e, "dev")
		want := []string{`one analyst {"seed":1}`, `all analyst {"seed":1}`, `all dev {"seed":1}`}
		if diff := cmp.Diff(want, calls); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if list := e.Registry().List(); list[0].Agent != "analyst" || list[1].Agent != "*" {
			t.Errorf("got %+v", list)
		}
	})
	t.Run("AC1 hooks can be registered for the pre- and the post-execution phase", func(t *testing.T) {
		e, _ := engine(t, hooks.Meta{})
		var calls []string
		hooks.StepBefore.On(e.Registry(), pre(&calls, "pre", ""))
		hooks.StepOutput.On(e.Registry(), post(&calls, "post", ""))
		execute(t, e, "pm")
		if diff := cmp.Diff([]string{`pre pm {"seed":1}`, `post pm {"seed":1} {"seed":1}`}, calls); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("AC1 multiple hooks can be registered for the same agent and phase", func(t *testing.T) {
		r := hooks.NewRegistry(hooks.Options{})
		ids := map[hooks.ID]bool{}
		for range 100 {
			ids[hooks.StepBefore.On(r, pre(new([]string), "", ""), forAgent(t, "dev"))] = true
		}
		if len(ids) != 100 || len(r.List()) != 100 {
			t.Errorf("got %d ids and %d hooks", len(ids), len(r.List()))
		}
		for id := range ids {
			if !regexp.MustCompile(`^hook-[0-9a-f]{8}$`).MatchString(string(id)) {
				t.Errorf("got id %q", id)
			}
		}
	})
	t.Run("AC2 all matching pre-hooks fire in registration order", func(t *testing.T) {
		e, _ := engine(t, hooks.Meta{})
		var calls []string
		for _, name := range []string{"1", "2", "3"} {
			hooks.StepBefore.On(e.Registry(), pre(&calls, name, ""))
		}
		execute(t, e, "sm")
		if got := strings.Join(calls, ","); got != `1 sm {"seed":1},2 sm {"seed":1},3 sm {"seed":1}` {
			t.Errorf("got %s", got)
		}
	})
	t.Run("AC2 pre-hooks receive the current state, a read-only snapshot", func(t *testing.T) {
		e, _ := engine(t, hooks.Meta{})
		var calls []string
		hooks.StepBefore.On(e.Registry(), func(_ context.Context, _ hooks.Meta, s hooks.Step) (*hooks.StepDecision, error) {
			state, err := s.State.Map()
			state["seed"] = "overwritten"
			s.State = `{}`
			return nil, err
		})
		hooks.StepBefore.On(e.Registry(), pre(&calls, "adds", `{"a":1}`))
		hooks.StepBefore.On(e.Registry(), pre(&calls, "sees the snapshot", ""))
		if out := execute(t, e, "tea"); out != `{"a":1,"seed":1}` || calls[1] != `sees the snapshot tea {"seed":1}` {
			t.Errorf("got %s, %q", out, calls)
		}
	})
	t.Run("AC2 pre-hooks can return modifications to inject into the state, the later one wins", func(t *testing.T) {
		e, _ := engine(t, hooks.Meta{})
		hooks.StepBefore.On(e.Registry(), pre(new([]string), "", `{"custom_context":"my data","both":1}`))
		hooks.StepBefore.On(e.Registry(), pre(new([]string), "", `{"both":2}`))
		if out := execute(t, e, "dev"); out != `{"both":2,"custom_context":"my data","seed":1}` {
			t.Errorf("got %s", out)
		}
	})
	t.Run("AC2 returning None from a pre-hook means no modifications", func(t *testing.T) {
		e, _ := engine(t, hooks.Meta{})
		hooks.StepBefore.On(e.Registry(), pre(new([]string), "", ""))
		if out := execute(t, e, "dev"); out != `{"seed":1}` {
			t.Errorf("got %s", out)
		}
	})
	t.Run("AC3 all matching post-hooks fire in registration order and receive input state and output", func(t *testing.T) {
		e, _ := engine(t, hooks.Meta{})
		var calls []string
		hooks.StepOutput.On(e.Registry(), post(&calls, "1", `{"n":1}`), forAgent(t, "d*"))
		hooks.StepOutput.On(e.Registry(), post(&calls, "not for dev", ""), forAgent(t, "pm"))
		hooks.StepOutput.On(e.Registry(), post(&calls, "2", `{"n":2}`), forAgent(t, "*"))
		execute(t, e, "dev")
		if diff := cmp.Diff([]string{`1 dev {"seed":1} {"seed":1}`, `2 dev {"seed":1} {"n":1}`}, calls); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
	t.Run("AC3 post-hooks can modify the output before it is applied, and None keeps the original", func(t *testing.T) {
		e, _ := engine(t, hooks.Meta{})
		hooks.StepOutput.On(e.Registry(), post(new([]string), "", ""))
		if out := execute(t, e, "dev"); out != `{"seed":1}` {
			t.Errorf("got %s", out)
		}
		hooks.StepOutput.On(e.Registry(), post(new([]string), "", `{"better":true}`))
		if out := execute(t, e, "dev"); out != `{"better":true}` {
			t.Errorf("got %s", out)
		}
	})
	t.Run("AC4 hooks are typed by the signatures of pre- and post-hooks", func(t *testing.T) {
		const meta = "func(context.Context, hooks.Meta, "
		signatures(t, map[string]any{
			meta + "hooks.Step) (*hooks.Decision[github.com/hooktrail/hooktrail/pkg/hooks.StepPatch], error)": hooks.StepBefore.On,
			meta + "hooks.StepState, hooks.JSON) (*hooks.JSON, error)":                                        hooks.StepOutput.On,
		})
	})
	t.Run("AC5 an error is logged with full context", func(t *testing.T) {
		var log bytes.Buffer
		r := hooks.NewRegistry(hooks.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		id := hooks.StepBefore.On(r, func(context.Context, hooks.Meta, hooks.Step) (*hooks.StepDecision, error) {
			return nil, hooks.Fault("no connection")
		}, hooks.Name("inject"))
		execute(t, hooks.NewEngine(r, hooks.Meta{Run: "r"}), "dev")
		for _, want := range []string{"hook failed", "hook=" + string(id), "name=inject", "point=step.before", "agent=dev", "run=r", `error="no connection"`} {
			if !strings.Contains(log.String(), want) {
				t.Errorf("no %s in %s", want, log.String())
			}
		}
	})
	t.Run("AC5 the workflow continues, and the other hooks fire", func(t *testing.T) {
		e, _ := engine(t, hooks.Meta{})
		hooks.StepBefore.On(e.Registry(), func(context.Context, hooks.Meta, hooks.Step) (*hooks.StepDecision, error) { panic("no") })
		hooks.StepOutput.On(e.Registry(), failing[hooks.StepState, hooks.JSON])
		hooks.StepBefore.On(e.Registry(), pre(new([]string), "", `{"a":1}`))
		if out := execute(t, e, "dev"); out != `{"a":1,"seed":1}` {
			t.Errorf("got %s", out)
		}
	})
	t.Run("AC5 the failed hook is recorded in the audit trail", func(t *testing.T) {
		e, j := engine(t, hooks.Meta{Run: "r"})
		id := hooks.StepBefore.On(e.Registry(), func(context.Context, hooks.Meta, hooks.Step) (*hooks.StepDecision, error) { panic("no") }, hooks.Name("bad"))
		execute(t, e, "dev")
		ev, data := find[events.StepBeforeData](t, j, events.StepBefore, 0)
		if len(data.Executions) != 1 || ev.Agent != "dev" {
			t.Fatalf("got %+v of %+v", data, ev)
		}
		if x := data.Executions[0]; x.Hook != string(id) || x.Name != "bad" || x.Success || x.Error != "panicked" || x.Point != events.StepBefore {
			t.Errorf("got %+v", x)
		}
	})
	t.Run("AC5 HookExecutionError is available for inspection", func(t *testing.T) {
		r := hooks.NewRegistry(hooks.Options{})
		cause := errors.New("cause")
		id := hooks.StepOutput.On(r, func(context.Context, hooks.Meta, hooks.StepState, hooks.JSON) (*hooks.JSON, error) { return nil, cause })
		out := hooks.StepOutput.Dispatch(t.Context(), r, hooks.Meta{Agent: "dev"}, hooks.StepState{Agent: "dev"}, `{}`)
		var failed *hooks.HookExecutionError
		if !errors.As(out.Err, &failed) || failed.Hook != id || failed.Agent != "dev" || failed.Point != events.StepOutput || !errors.Is(failed, cause) {
			t.Errorf("got %v", out.Err)
		}
	})
	t.Run("AC6 an unregistered hook does not fire any more, and the list reflects it", func(t *testing.T) {
		e, _ := engine(t, hooks.Meta{})
		var calls []string
		first := hooks.StepBefore.On(e.Registry(), pre(&calls, "first", ""), hooks.Name("first"))
		hooks.StepBefore.On(e.Registry(), pre(&calls, "second", ""), hooks.Name("second"))
		if list := e.Registry().List(); len(list) != 2 || list[0].ID != first || list[0].Registered.IsZero() || list[0].Class != hooks.DecisionClass {
			t.Errorf("got %+v", list)
		}
		if !e.Registry().Off(first) || e.Registry().Off(first) || e.Registry().Off("hook-00000000") {
			t.Error("a hook is there once")
		}
		execute(t, e, "dev")
		names := slices.Collect(func(yield func(string) bool) {
			for _, h := range e.Registry().List() {
				if !yield(h.Name) {
					return
				}
			}
		})
		if !slices.Equal(names, []string{"second"}) || len(calls) != 1 || !strings.HasPrefix(calls[0], "second") {
			t.Errorf("got %v, %q", names, calls)
		}
	})
}

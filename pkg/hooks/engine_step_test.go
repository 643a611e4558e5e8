package hooks_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

func TestEngine_StepMergesState(t *testing.T) {
	e, _ := engine(t, hooks.Meta{Agent: "analyst"})
	for i, patch := range []hooks.JSON{`{"a":"first","b":1}`, `{"a":"second"}`} {
		hooks.StepBefore.On(e.Registry(), func(_ context.Context, _ hooks.Meta, s hooks.Step) (*hooks.StepDecision, error) {
			if s.State != `{"z":0}` {
				t.Errorf("hook %d saw %s", i, s.State)
			}
			return &hooks.StepDecision{Context: fmt.Sprint("context ", i), Patch: &hooks.StepPatch{State: patch}}, nil
		})
	}
	hooks.StepOutput.On(e.Registry(), func(_ context.Context, _ hooks.Meta, s hooks.StepState, out hooks.JSON) (*hooks.JSON, error) {
		if s.Agent != "analyst" || s.State != `{"a":"second","b":1,"z":0}` || out != `{"out":1}` {
			t.Errorf("got %+v, %s", s, out)
		}
		changed := hooks.JSON(`{"out":2}`)
		return &changed, nil
	})
	out, err := e.Step(t.Context(), hooks.StepInfo{State: `{"z":0}`}, func(_ context.Context, a hooks.Attempt) (hooks.JSON, error) {
		if a.State != `{"a":"second","b":1,"z":0}` || a.Context != "context 0\n\ncontext 1" || a.Number != 1 {
			t.Errorf("got %+v", a)
		}
		return `{"out":1}`, nil
	})
	if err != nil || out != `{"out":2}` {
		t.Errorf("got %s, %v", out, err)
	}
}

func TestEngine_StepDenied(t *testing.T) {
	e, j := engine(t, hooks.Meta{Run: "r"})
	hooks.StepBefore.On(e.Registry(), func(context.Context, hooks.Meta, hooks.Step) (*hooks.StepDecision, error) {
		return nil, errors.New("no")
	}, hooks.OnFailure(hooks.Block))
	_, err := e.Step(t.Context(), hooks.StepInfo{ID: "s"}, func(context.Context, hooks.Attempt) (hooks.JSON, error) {
		t.Error("the denied step ran")
		return "", nil
	})
	if !errors.Is(err, hooks.ErrDenied) {
		t.Errorf("got %v", err)
	}
	if _, step := find[events.StepFinishedData](t, j, events.StepFinished, 0); step.StepStatus != events.StepSkipped || step.Error.Class != "denied" {
		t.Errorf("got %+v", step)
	}
}

func TestEngine_StepOutputWithheld(t *testing.T) {
	e, j := engine(t, hooks.Meta{Run: "r"})
	hooks.StepOutput.On(e.Registry(), failing, hooks.OnFailure(hooks.Block))
	out, err := e.Step(t.Context(), hooks.StepInfo{}, func(context.Context, hooks.Attempt) (hooks.JSON, error) { return `{}`, nil })
	var failed *hooks.HookExecutionError
	if out != "" || !errors.As(err, &failed) {
		t.Errorf("got %s, %v", out, err)
	}
	if _, step := find[events.StepFinishedData](t, j, events.StepFinished, 0); step.StepStatus != events.StepFailed {
		t.Errorf("got %+v", step)
	}
}

func TestEngine_ToolResultWithheld(t *testing.T) {
	e, j := engine(t, hooks.Meta{})
	hooks.ToolResult.On(e.Registry(), failing, hooks.OnFailure(hooks.Block))
	var out hooks.ToolOutcome
	_ = e.Run(t.Context(), hooks.RunInfo{}, func(ctx context.Context) (err error) {
		out, err = e.Tool(ctx, hooks.ToolCall{Tool: "T"}, succeed)
		return err
	})
	if out.Status != events.ToolError || out.Result != "" {
		t.Errorf("got %+v", out)
	}
	if _, run := find[events.RunFinishedData](t, j, events.RunFinished, 0); run.ToolErrors != 1 {
		t.Errorf("got %+v", run)
	}
}

// A refusal by others than our hooks and an interrupt are no failures. Nothing repeats them, and
// hooks without an opinion keep them.
func TestEngine_ToolNotRun(t *testing.T) {
	e, j := engine(t, hooks.Meta{})
	hooks.Error.On(e.Registry(), func(context.Context, hooks.Meta, hooks.Failure) (*hooks.Recovery, error) {
		t.Error("a hook of error ran")
		return &hooks.Recovery{Retry: true}, nil
	})
	hooks.ToolResult.On(e.Registry(), func(_ context.Context, _ hooks.Meta, _ hooks.ToolDone, o hooks.ToolOutcome) (*hooks.ToolOutcome, error) {
		return &o, nil
	})
	tool := func(err error) func(context.Context, hooks.ToolCall) (hooks.JSON, error) {
		return func(context.Context, hooks.ToolCall) (hooks.JSON, error) { return "", err }
	}
	err := e.Run(t.Context(), hooks.RunInfo{}, func(ctx context.Context) error {
		out, err := e.Tool(ctx, hooks.ToolCall{Tool: "T"}, tool(fmt.Errorf("run: %w", &hooks.RefusedError{By: events.DeniedByUser, Reason: "not now"})))
		if err != nil || out.Status != events.ToolDenied || out.DeniedBy != events.DeniedByUser || out.Error != "run: not now" {
			t.Errorf("refused: got %+v, %v", out, err)
		}
		out, err = e.Tool(ctx, hooks.ToolCall{Tool: "T"}, tool(fmt.Errorf("run: %w", hooks.ErrInterrupted)))
		if err != nil || out.Status != events.ToolInterrupted || out.DeniedBy != "" {
			t.Errorf("interrupted: got %+v, %v", out, err)
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	for n, want := range []events.ToolStatus{events.ToolDenied, events.ToolInterrupted} {
		if _, data := find[events.ToolResultData](t, j, events.ToolResult, n); data.Status != want || (data.DeniedBy == events.DeniedByUser) != (n == 0) || data.Error == nil {
			t.Errorf("recorded %+v", data)
		}
	}
	if _, run := find[events.RunFinishedData](t, j, events.RunFinished, 0); run.ToolCalls != 2 || run.ToolErrors != 0 || run.ToolDenied != 1 || run.ToolInterrupted != 1 {
		t.Errorf("got %+v", run)
	}
}

func TestEngine_Recovery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, j := engine(t, hooks.Meta{})
		hooks.Error.On(e.Registry(), func(_ context.Context, _ hooks.Meta, f hooks.Failure) (*hooks.Recovery, error) {
			if f.Type != hooks.ModelError || f.Model != []string{"opus", "sonnet"}[f.Attempt-1] {
				t.Errorf("got %+v", f)
			}
			return &hooks.Recovery{Retry: true, Fallback: "sonnet", Prompt: "again", Backoff: 2 * time.Second}, nil
		})
		began := time.Now()
		var attempts []hooks.Attempt
		out, err := e.Step(t.Context(), hooks.StepInfo{Model: "opus"}, func(_ context.Context, a hooks.Attempt) (hooks.JSON, error) {
			attempts = append(attempts, a)
			if a.Number < 3 {
				return "", &hooks.TypedError{Type: hooks.ModelError, Err: errors.New("overloaded")}
			}
			return `{}`, nil
		})
		if err != nil || out != `{}` || len(attempts) != 3 || attempts[2].Model != "sonnet" || attempts[1].Prompt != "again" {
			t.Errorf("got %s, %v, attempts %+v", out, err, attempts)
		}
		if took := time.Since(began); took != 4*time.Second {
			t.Errorf("took %v", took)
		}
		if _, data := find[events.ModelSwitchedData](t, j, events.ModelSwitched, 0); data.From != "opus" || data.To != "sonnet" {
			t.Errorf("got %+v", data)
		}
		if n := len(slices.DeleteFunc(j.kinds(), func(k string) bool { return k != "model.switched" })); n != 1 {
			t.Errorf("switched %d times", n)
		}
	})
}

func TestEngine_RecoveryEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e, _ := engine(t, hooks.Meta{})
		hooks.Error.On(e.Registry(), func(context.Context, hooks.Meta, hooks.Failure) (*hooks.Recovery, error) {
			return &hooks.Recovery{Retry: true, Backoff: 1000 * time.Hour}, nil
		})
		began, calls := time.Now(), 0
		failing := func(context.Context, hooks.Attempt) (hooks.JSON, error) {
			calls++
			return "", errors.New("no")
		}
		if _, err := e.Step(t.Context(), hooks.StepInfo{}, failing); err == nil || calls != hooks.MaxAttempts {
			t.Errorf("got %v after %d calls", err, calls)
		}
		if took := time.Since(began); took != (hooks.MaxAttempts-1)*hooks.MaxBackoff {
			t.Errorf("took %v", took)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began, calls = time.Now(), 0
		if _, err := e.Step(ctx, hooks.StepInfo{}, failing); err == nil || calls != 1 || time.Since(began) != time.Second {
			t.Errorf("got %v after %d calls in %v", err, calls, time.Since(began))
		}
	})
}

func TestEngine_ErrorTypes(t *testing.T) {
	tests := []struct {
		name string
		err  error
		want hooks.ErrorType
	}{
		{"Unknown", errors.New("no"), hooks.UnknownError},
		{"Network", fmt.Errorf("ask: %w", &net.OpError{Op: "dial", Err: errors.New("refused")}), hooks.NetworkError},
		{"Permission", fmt.Errorf("read: %w", fs.ErrPermission), hooks.PermissionError},
		{"Denied", fmt.Errorf("call: %w", &hooks.DeniedError{}), hooks.PermissionError},
		{"Deadline", context.DeadlineExceeded, hooks.UnknownError},
		{"Typed", fmt.Errorf("x: %w", &hooks.TypedError{Type: hooks.ContextOverflowError, Err: fs.ErrPermission}), hooks.ContextOverflowError},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, j := engine(t, hooks.Meta{})
			var got []hooks.ErrorType
			hooks.Error.On(e.Registry(), func(_ context.Context, _ hooks.Meta, f hooks.Failure) (*hooks.Recovery, error) {
				got = append(got, f.Type)
				return nil, nil
			})
			err := e.Run(t.Context(), hooks.RunInfo{}, func(ctx context.Context) error {
				_, err := e.Step(ctx, hooks.StepInfo{}, func(context.Context, hooks.Attempt) (hooks.JSON, error) { return "", tt.err })
				return fmt.Errorf("step: %w", err)
			})
			if !errors.Is(err, tt.err) || !slices.Equal(got, []hooks.ErrorType{tt.want}) {
				t.Errorf("got %v and %v, want %v once", err, got, tt.want)
			}
			_ = j
			got = nil
			if _, err := e.Tool(t.Context(), hooks.ToolCall{}, func(context.Context, hooks.ToolCall) (hooks.JSON, error) { return "", tt.err }); err != nil {
				t.Error(err)
			}
			want := hooks.ToolError
			if tt.name == "Typed" {
				want = tt.want
			}
			if !slices.Equal(got, []hooks.ErrorType{want}) {
				t.Errorf("of a tool: got %v, want %v", got, want)
			}
		})
	}
}

func TestEngine_Messages(t *testing.T) {
	e, j := engine(t, hooks.Meta{})
	var stored []hooks.JSON
	insert := func(_ context.Context, m hooks.JSON) error { stored = append(stored, m); return nil }
	id := hooks.MessageCreate.On(e.Registry(), func(context.Context, hooks.Meta, hooks.NoSubject, hooks.JSON) (*hooks.JSON, error) {
		changed := hooks.JSON(`{"id":"m","role":"user","content":"hi","metadata":1}`)
		return &changed, nil
	})
	if err := e.CreateMessage(t.Context(), `{"id":"m"}`, insert); err != nil || len(stored) != 1 || !strings.Contains(string(stored[0]), "metadata") {
		t.Errorf("got %v, %v", stored, err)
	}
	if _, data := find[events.MessageData](t, j, events.MessageCreated, 0); data.Message != "m" || data.Role != "user" || string(data.Content) != `"hi"` {
		t.Errorf("got %+v", data)
	}
	e.Registry().Off(id)
	hooks.MessageCreate.On(e.Registry(), failing)
	if err := e.CreateMessage(t.Context(), `{"id":"m2"}`, insert); err == nil || len(stored) != 1 {
		t.Errorf("a failing hook did not prevent the message: %v", err)
	}
	full := errors.New("disk full")
	update := func(_ context.Context, u hooks.JSON) (hooks.JSON, error) {
		if u != `{"content":"ho"}` {
			t.Errorf("got %s", u)
		}
		return `{"id":"m","role":"user","content":"ho"}`, nil
	}
	if err := e.UpdateMessage(t.Context(), "m", `{"content":"ho"}`, update); err != nil {
		t.Error(err)
	}
	if _, data := find[events.MessageData](t, j, events.MessageUpdated, 0); data.Message != "m" || string(data.Content) != `"ho"` || string(data.Updates) != `{"content":"ho"}` {
		t.Errorf("got %+v", data)
	}
	if err := e.UpdateMessage(t.Context(), "m", `{}`, func(context.Context, hooks.JSON) (hooks.JSON, error) { return "", full }); !errors.Is(err, full) {
		t.Errorf("got %v", err)
	}
	if n := strings.Count(strings.Join(j.kinds(), " "), "message.updated"); n != 1 {
		t.Errorf("told %d times of one update", n)
	}
	hooks.MessageUpdate.On(e.Registry(), failing)
	if err := e.UpdateMessage(t.Context(), "m", `{}`, func(context.Context, hooks.JSON) (hooks.JSON, error) {
		t.Error("a failing hook did not prevent the update")
		return "", nil
	}); err == nil {
		t.Error("no error")
	}
}

func TestEngine_StoreResult(t *testing.T) {
	e, _ := engine(t, hooks.Meta{})
	var stored hooks.JSON
	store := func(_ context.Context, v hooks.JSON) error { stored = v; return nil }
	id := hooks.ToolResultStore.On(e.Registry(), func(_ context.Context, m hooks.Meta, c hooks.ToolCall, _ hooks.JSON) (*hooks.JSON, error) {
		if m.ToolCall != "c" || c.ID != "c" {
			t.Errorf("got %+v, %+v", m, c)
		}
		clean := hooks.JSON(`{"result":"****"}`)
		return &clean, nil
	})
	if err := e.StoreResult(t.Context(), hooks.ToolCall{ID: "c"}, `{"result":"4111"}`, store); err != nil || stored != `{"result":"****"}` {
		t.Errorf("got %s, %v", stored, err)
	}
	e.Registry().Off(id)
	hooks.ToolResultStore.On(e.Registry(), func(context.Context, hooks.Meta, hooks.ToolCall, hooks.JSON) (*hooks.JSON, error) { panic("no") })
	if err := e.StoreResult(t.Context(), hooks.ToolCall{ID: "c"}, `{"result":"4111"}`, store); err != nil || stored != hooks.RedactionFailed {
		t.Errorf("got %s, %v", stored, err)
	}
}

type refusing struct{}

func (refusing) Append(context.Context, events.Event) (events.Event, error) {
	return events.Event{}, errors.New("4111 1111 1111 1111")
}

func TestEngine_RefusingAppender(t *testing.T) {
	var log bytes.Buffer
	r := hooks.NewRegistry(hooks.Options{Appender: refusing{}, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	e := hooks.NewEngine(r, hooks.Meta{})
	err := e.Run(t.Context(), hooks.RunInfo{}, func(ctx context.Context) error {
		_, err := e.Step(ctx, hooks.StepInfo{}, func(ctx context.Context, _ hooks.Attempt) (hooks.JSON, error) {
			out, err := e.Tool(ctx, hooks.ToolCall{Tool: "T"}, succeed)
			return out.Result, err
		})
		return err
	})
	if err != nil {
		t.Error(err)
	}
	if text := log.String(); strings.Count(text, "dispatch not recorded") != 7 || strings.Contains(text, "4111") {
		t.Errorf("log:\n%s", text)
	}
}

type stuck struct{}

func (stuck) Append(ctx context.Context, _ events.Event) (events.Event, error) {
	<-ctx.Done()
	return events.Event{}, ctx.Err()
}

func TestEngine_StuckAppender(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := hooks.NewRegistry(hooks.Options{Appender: stuck{}})
		e := hooks.NewEngine(r, hooks.Meta{})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began := time.Now()
		_ = e.Run(ctx, hooks.RunInfo{}, func(ctx context.Context) error { return ctx.Err() })
		if took := time.Since(began); took != 11*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

package hooks

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/pkg/events"
)

type stepHook = func(context.Context, Meta, events.StepFinishedData) error

func TestNotification_AllRunAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, k := recorded(t)
		block, release := forever(t)
		for _, h := range []struct {
			name string
			fn   stepHook
			opts []Option
		}{
			{"slow", func(context.Context, Meta, events.StepFinishedData) error { time.Sleep(2 * time.Second); return nil }, nil},
			{"error", func(context.Context, Meta, events.StepFinishedData) error { return errTest }, nil},
			{"panic", func(context.Context, Meta, events.StepFinishedData) error { panic(errTest) }, nil},
			{"exit", func(context.Context, Meta, events.StepFinishedData) error { runtime.Goexit(); return nil }, nil},
			{"stuck", func(context.Context, Meta, events.StepFinishedData) error { block(); return nil }, []Option{Timeout(3 * time.Second), OnFailure(Block)}},
			{"external", func(ctx context.Context, _ Meta, _ events.StepFinishedData) error {
				<-ctx.Done()
				time.Sleep(Grace / 2)
				return ctx.Err()
			}, []Option{Timeout(2 * time.Second), Isolate(External)}},
			{"early", func(context.Context, Meta, events.StepFinishedData) error { return nil }, []Option{Priority(-1)}},
			{"inline", func(context.Context, Meta, events.StepFinishedData) error { return nil }, []Option{Isolate(Inline)}},
			{"off", func(context.Context, Meta, events.StepFinishedData) error { t.Error("called"); return nil }, []Option{Enabled(func(context.Context, Meta) bool { return false })}},
			{"failures", func(context.Context, Meta, events.StepFinishedData) error { t.Error("called"); return nil }, []Option{WhenFailure()}},
		} {
			StepFinished.On(r, h.fn, append(h.opts, Name(h.name))...)
		}
		start := time.Now()
		out := StepFinished.Dispatch(t.Context(), r, somewhere, events.StepFinishedData{StepStatus: events.StepCompleted})
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("took %v", took)
		}
		if got := names(out.Executions); got != "early slow error panic exit stuck external inline" {
			t.Errorf("executions %s", got)
		}
		wantErrors := map[string]Fault{"error": "failed", "panic": ErrPanicked, "exit": ErrExited, "stuck": ErrTimedOut, "external": ErrTimedOut}
		for _, x := range out.Executions {
			if want := wantErrors[x.Name]; x.Error != string(want) || x.Success != (want == "") || x.TimedOut != (want == ErrTimedOut) {
				t.Errorf("execution %+v, want the error %q", x, want)
			}
		}
		var failed []string
		for _, err := range out.Errors {
			failed = append(failed, err.Name)
		}
		if diff := cmp.Diff([]string{"error", "panic", "exit", "stuck", "external"}, failed); diff != "" || !errors.Is(out.Errors[0], errTest) {
			t.Errorf("errors (-want +got):\n%s", diff)
		}
		e, data := only[events.StepFinishedData](t, k, events.StepFinished)
		if diff := cmp.Diff(out.Executions, data.Executions); diff != "" || data.StepStatus != events.StepCompleted || e.ID != out.Event {
			t.Errorf("recorded (-want +got):\n%s", diff)
		}
		release()
		if err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		all := k.events()
		if len(all) != 2 || all[1].Kind() != events.HookExecuted {
			t.Fatalf("events %v", all)
		}
		if late := payloadOf[events.HookExecutedData](t, all[1]); late.Name != "stuck" || !late.Late || late.Dispatch != e.ID {
			t.Errorf("recorded %+v", late)
		}
	})
}

func TestNotification_HooksGetCopies(t *testing.T) {
	r, k := recorded(t)
	mine := events.RunFinishedData{
		Success: true, TokensUsed: &events.Tokens{Input: 1}, Files: []string{"a.go"}, Error: &events.Failure{Message: "m"},
		Metadata: map[string]any{"complexity": 3, "list": []any{map[string]any{"deep": "yes"}}},
	}
	want, err := Marshal(mine)
	if err != nil {
		t.Fatal(err)
	}
	vandal := func(_ context.Context, m Meta, e events.RunFinishedData) error {
		if got, err := Marshal(e); err != nil || got != want {
			t.Errorf("got %s, want %s: %v", got, want, err)
		}
		m.Run, e.Success, e.TokensUsed.Input, e.Files[0], e.Error.Message = "", false, 99, "b.go", "n"
		list, _ := e.Metadata["list"].([]any)
		deep, _ := list[0].(map[string]any)
		deep["deep"], e.Metadata["complexity"] = "no", 9
		return nil
	}
	for _, isolate := range isolations {
		RunFinished.On(r, vandal, isolate)
	}
	RunFinished.On(r, vandal, Async())
	out := RunFinished.Dispatch(t.Context(), r, somewhere, mine)
	if len(out.Errors) > 0 {
		t.Error(out.Errors)
	}
	if got, err := Marshal(mine); err != nil || got != want {
		t.Errorf("the caller's own is %s", got)
	}
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	first := payloadOf[events.RunFinishedData](t, k.events()[0])
	first.Executions = nil
	if got, err := Marshal(first); err != nil || got != want {
		t.Errorf("recorded %s, want %s", got, want)
	}
}

func TestNotification_CancelledCallerGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, k := recorded(t)
		block, release := forever(t)
		RunStarted.On(r, func(context.Context, Meta, events.RunStartedData) error { block(); return nil }, Name("stuck"))
		RunStarted.On(r, func(ctx context.Context, _ Meta, _ events.RunStartedData) error {
			<-ctx.Done()
			time.Sleep(Grace / 2)
			return nil
		}, Name("external"), Isolate(External))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		start := time.Now()
		out := RunStarted.Dispatch(ctx, r, somewhere, events.RunStartedData{})
		if took := time.Since(start); took != time.Second+Grace/2 || len(out.Errors) != 1 || !errors.Is(out.Errors[0], context.Canceled) {
			t.Errorf("took %v, errors %v", took, out.Errors)
		}
		if out.RecordErr != nil || len(k.events()) != 1 {
			t.Errorf("not recorded: %v", out.RecordErr)
		}
		out = RunStarted.Dispatch(ctx, r, somewhere, events.RunStartedData{})
		if len(out.Errors) != 2 || out.RecordErr != nil {
			t.Errorf("when it is over before it begins: %+v", out)
		}
		release()
	})
}

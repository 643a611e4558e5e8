package hooks

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/pkg/events"
)

func TestAsync_DispatchDoesNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, k := recorded(t)
		block, release := forever(t)
		for _, h := range []struct {
			name string
			fn   stepHook
		}{
			{"fine", func(ctx context.Context, _ Meta, e events.StepFinishedData) error {
				time.Sleep(time.Second)
				if e.OutputSummary != "done" || ctx.Err() != nil {
					t.Errorf("got %+v, %v", e, ctx.Err())
				}
				return nil
			}},
			{"error", func(context.Context, Meta, events.StepFinishedData) error { return errTest }},
			{"panic", func(context.Context, Meta, events.StepFinishedData) error { panic(errTest) }},
			{"exit", func(context.Context, Meta, events.StepFinishedData) error { runtime.Goexit(); return nil }},
			{"stuck", func(context.Context, Meta, events.StepFinishedData) error { block(); return nil }},
		} {
			StepFinished.On(r, h.fn, Name(h.name), Async())
		}
		StepFinished.On(r, func(context.Context, Meta, events.StepFinishedData) error { return nil }, Name("waited"))
		ctx, cancel := context.WithCancel(t.Context())
		start := time.Now()
		out := StepFinished.Dispatch(ctx, r, somewhere, events.StepFinishedData{StepStatus: events.StepFailed, OutputSummary: "done"})
		cancel() // does not end an asynchronous hook
		if took := time.Since(start); took != 0 || names(out.Executions) != "waited" {
			t.Errorf("took %v, executions %+v", took, out.Executions)
		}
		time.AfterFunc(DefaultTimeout+time.Second, release)
		if err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took != DefaultTimeout+time.Second {
			t.Errorf("closing took %v", took)
		}
		all := k.events()
		if all[0].Kind() != events.StepFinished || all[0].ID != out.Event {
			t.Errorf("first event %s", all[0].Type)
		}
		var got []string
		for _, e := range all[1:] {
			x := payloadOf[events.HookExecutedData](t, e)
			if e.Kind() != events.HookExecuted || x.Dispatch != out.Event || x.Success != (x.Name == "fine") || e.Run != "run-1" {
				t.Errorf("recorded %+v", x)
			}
			line := x.Name + " " + x.Error
			if x.Late {
				line += " late"
			}
			got = append(got, line)
		}
		slices.Sort(got)
		want := []string{"error failed", "exit " + string(ErrExited), "fine ", "panic panicked", "stuck timed out", "stuck timed out late"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("recorded (-want +got):\n%s", diff)
		}
	})
}

func TestAsync_TransformSeesTheValueInTheEnd(t *testing.T) {
	r, k := recorded(t)
	var seen atomic.Value
	ToolResult.On(r, func(_ context.Context, _ Meta, _ ToolDone, o ToolOutcome) (*ToolOutcome, error) {
		seen.Store(string(o.Result))
		o.Result = `"lost"`
		return &o, nil
	}, Async())
	ToolResult.On(r, func(_ context.Context, _ Meta, _ ToolDone, o ToolOutcome) (*ToolOutcome, error) {
		o.Result = `"redacted"`
		return &o, nil
	})
	out := ToolResult.Dispatch(t.Context(), r, somewhere, ToolDone{}, ToolOutcome{Status: events.ToolSuccess, Result: `"raw"`})
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if out.Value.Result != `"redacted"` || seen.Load() != `"redacted"` || len(k.events()) != 2 {
		t.Errorf("got %s, seen %v, %d events", out.Value.Result, seen.Load(), len(k.events()))
	}
}

func TestAsync_Limits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, k := recorded(t)
		block, release := forever(t)
		var calls atomic.Int64
		RunStarted.On(r, func(context.Context, Meta, events.RunStartedData) error {
			calls.Add(1)
			block()
			return nil
		}, Async())
		for range maxAsync + 1 {
			RunStarted.Dispatch(t.Context(), r, somewhere, events.RunStartedData{})
		}
		synctest.Wait()
		if calls.Load() != maxAsync {
			t.Errorf("%d calls at the same time, at most %d", calls.Load(), maxAsync)
		}
		all := k.events()
		if x := payloadOf[events.HookExecutedData](t, all[len(all)-1]); x.Error != string(ErrBusy) {
			t.Errorf("recorded %+v", x)
		}
		release()
		if err := r.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		RunStarted.Dispatch(t.Context(), r, somewhere, events.RunStartedData{})
		all = k.events()
		if x := payloadOf[events.HookExecutedData](t, all[len(all)-1]); x.Error != string(ErrClosed) || calls.Load() != maxAsync {
			t.Errorf("recorded %+v", x)
		}
	})
}

func TestClose_ReportsUnfinishedExecutions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRegistry(Options{})
		block, release := forever(t)
		for range 3 {
			RunStarted.On(r, func(context.Context, Meta, events.RunStartedData) error { block(); return nil }, Async())
		}
		RunStarted.Dispatch(t.Context(), r, somewhere, events.RunStartedData{})
		ctx, stop := context.WithTimeout(t.Context(), time.Second)
		defer stop()
		if err := r.Close(ctx); err == nil || !strings.Contains(err.Error(), "3 executions have not ended") {
			t.Errorf("close: %v", err)
		}
		if id := RunStarted.On(r, func(context.Context, Meta, events.RunStartedData) error { return nil }); id != "" || r.Err() == nil {
			t.Errorf("a closed registry took the hook %q", id)
		}
		release()
		if err := r.Close(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

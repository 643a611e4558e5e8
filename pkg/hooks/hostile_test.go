package hooks

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/hooktrail/hooktrail/pkg/events"
)

//guarantee:hook-fails
func TestHostile_LateAnswerIsDiscardedAndRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, k := recorded(t)
		late := ToolBefore.On(r, func(ctx context.Context, _ Meta, _ ToolCall) (*ToolDecision, error) {
			time.Sleep(3 * time.Second)
			if ctx.Err() == nil {
				t.Error("the context of a hook that is late has not ended")
			}
			return &ToolDecision{Verdict: Deny, Reason: "too late"}, nil
		}, Name("late"), Timeout(time.Second))
		var called []string
		ToolBefore.On(r, says(&called, "next", &ToolDecision{Verdict: Allow}), Name("next"))
		start := time.Now()
		out := ToolBefore.Dispatch(t.Context(), r, somewhere, ToolCall{})
		if took := time.Since(start); took != time.Second {
			t.Errorf("took %v", took)
		}
		if out.Verdict != Allow || names(out.Executions) != "late next" || !out.Executions[0].TimedOut {
			t.Errorf("got %+v", out)
		}
		synctest.Wait()
		if n := len(k.events()); n != 1 {
			t.Fatalf("%d events while the hook still runs", n)
		}
		if err := r.Close(t.Context()); err != nil { // waits for it
			t.Fatal(err)
		}
		all := k.events()
		if len(all) != 2 || all[1].Kind() != events.HookExecuted {
			t.Fatalf("events %v", all)
		}
		data := payloadOf[events.HookExecutedData](t, all[1])
		want := events.HookExecutedData{
			Execution: Execution{Hook: string(late), Name: "late", Point: events.ToolBefore, Error: "timed out", DurationMS: 3000, Verdict: Deny, TimedOut: true},
			Dispatch:  out.Event, Late: true,
		}
		if diff := cmp.Diff(want, data); diff != "" || all[1].Run != "run-1" || all[1].Tenant != "acme" {
			t.Errorf("recorded (-want +got):\n%s", diff)
		}
	})
}

func TestHostile_EachHookMayTakeItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tidy(t, NewRegistry(Options{}))
		for i, seconds := range []int{4, 1, 9, 2, 3} { // 9 is too long
			ToolBefore.On(r, func(context.Context, Meta, ToolCall) (*ToolDecision, error) {
				time.Sleep(time.Duration(seconds) * time.Second)
				return &ToolDecision{Context: strconv.Itoa(i)}, nil
			}, Timeout(map[bool]time.Duration{true: 1500 * time.Millisecond}[seconds == 1]))
		}
		start := time.Now()
		out := ToolBefore.Dispatch(t.Context(), r, somewhere, ToolCall{})
		if took := time.Since(start); took != 15*time.Second || out.Context != "0\n\n1\n\n3\n\n4" {
			t.Errorf("took %v, context %q", took, out.Context)
		}
	})
}

func TestHostile_ChainHasAnEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tidy(t, NewRegistry(Options{ChainTimeout: 7 * time.Second}))
		sleepy := func(context.Context, Meta, ToolCall) (*ToolDecision, error) {
			time.Sleep(3 * time.Second)
			return nil, nil
		}
		for _, name := range []string{"a", "b", "c", "d"} {
			ToolBefore.On(r, sleepy, Name(name))
		}
		ToolBefore.On(r, sleepy, Name("guard"), OnFailure(Block))
		start := time.Now()
		out := ToolBefore.Dispatch(t.Context(), r, somewhere, ToolCall{})
		if took := time.Since(start); took != 7*time.Second || names(out.Executions) != "a b c d guard" {
			t.Fatalf("took %v, executions %+v", took, out.Executions)
		}
		for i, want := range []string{"", "timed out", "timed out", "timed out", "timed out"} {
			if x := out.Executions[i]; x.Error != want || x.TimedOut != (want != "") {
				t.Errorf("execution %+v, want the error %q", x, want)
			}
		}
		if out.Verdict != Deny {
			t.Errorf("a blocking hook without time gave %s", out.Verdict)
		}
	})
}

func TestHostile_CancelledCallerGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, k := recorded(t)
		block, release := forever(t)
		var called []string
		ToolBefore.On(r, func(context.Context, Meta, ToolCall) (*ToolDecision, error) {
			block()
			return nil, nil
		}, Name("stuck"))
		ToolBefore.On(r, says(&called, "never", nil), Name("never"), Isolate(Inline))
		ToolBefore.On(r, says(&called, "guard", nil), Name("guard"), OnFailure(Block))
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		start := time.Now()
		out := ToolBefore.Dispatch(ctx, r, somewhere, ToolCall{Tool: "Bash"})
		if took := time.Since(start); took != time.Second || len(called) != 0 {
			t.Errorf("took %v, called %q", took, called)
		}
		if out.Verdict != Deny || out.RecordErr != nil || names(out.Executions) != "stuck never guard" {
			t.Errorf("got %+v", out)
		}
		for _, x := range out.Executions {
			if x.Error != "cancelled" || x.Success || x.TimedOut {
				t.Errorf("execution %+v", x)
			}
		}
		only[events.ToolBeforeData](t, k, events.ToolBefore)
		release()
		synctest.Wait()
		if all := k.events(); len(all) != 2 || all[1].Kind() != events.HookExecuted {
			t.Errorf("events %v", all)
		}
	})
}

func TestHostile_ExternalHooksMayCleanUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tidy(t, NewRegistry(Options{}))
		cleaned := false
		ToolBefore.On(r, func(ctx context.Context, _ Meta, _ ToolCall) (*ToolDecision, error) {
			<-ctx.Done()
			time.Sleep(Grace / 2)
			cleaned = true
			return &ToolDecision{Verdict: Allow}, nil
		}, Isolate(External), Timeout(time.Second))
		for name, ctx := range map[string]func() context.Context{
			"Deadline": t.Context,
			"Cancelled": func() context.Context {
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Second, cancel)
				return ctx
			},
		} {
			start := time.Now()
			out := ToolBefore.Dispatch(ctx(), r, somewhere, ToolCall{})
			if took := time.Since(start); took != time.Second+Grace/2 || !cleaned || out.Verdict != None || out.Executions[0].Success {
				t.Errorf("%s: took %v, cleaned %t, got %+v", name, took, cleaned, out)
			}
		}
	})
}

func TestHostile_StuckHookIsNotCalledForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := tidy(t, NewRegistry(Options{}))
		block, release := forever(t)
		var calls atomic.Int64
		ToolBefore.On(r, func(context.Context, Meta, ToolCall) (*ToolDecision, error) {
			calls.Add(1)
			block()
			return nil, nil
		}, Timeout(time.Millisecond), OnFailure(Block))
		for range maxAbandoned {
			ToolBefore.Dispatch(t.Context(), r, somewhere, ToolCall{})
		}
		start := time.Now()
		out := ToolBefore.Dispatch(t.Context(), r, somewhere, ToolCall{})
		if time.Since(start) != 0 || calls.Load() != maxAbandoned || out.Verdict != Deny || out.Executions[0].Error != string(ErrBusy) {
			t.Errorf("after %d calls: %+v", calls.Load(), out)
		}
		release()
		synctest.Wait()
		out = ToolBefore.Dispatch(t.Context(), r, somewhere, ToolCall{})
		if calls.Load() != maxAbandoned+1 || !out.Executions[0].Success {
			t.Errorf("after they have ended: %d calls, %+v", calls.Load(), out)
		}
	})
}

func TestHostile_RegistersAndRemovesInside(t *testing.T) {
	for level, isolate := range isolations {
		t.Run(level, func(t *testing.T) {
			r := tidy(t, NewRegistry(Options{}))
			var called []string
			var self, other ID
			self = ToolBefore.On(r, func(ctx context.Context, m Meta, c ToolCall) (*ToolDecision, error) {
				if c.Tool == "inner" {
					return &ToolDecision{Verdict: Ask}, nil
				}
				if !r.Off(self) || r.Off(self) || !r.Off(other) {
					t.Error("off: not true once and false then")
				}
				ToolBefore.On(r, says(&called, "new", nil), Priority(-1))
				inner := ToolBefore.Dispatch(ctx, r, m, ToolCall{Tool: "inner"})
				return &ToolDecision{Context: fmt.Sprint(inner.Verdict, len(inner.Executions), len(r.List()))}, nil
			}, isolate)
			other = ToolBefore.On(r, says(&called, "other", nil), isolate)
			out := ToolBefore.Dispatch(t.Context(), r, somewhere, ToolCall{})
			if out.Context != "none1 1" && out.Context != "none 1 1" {
				t.Errorf("inside: %q", out.Context)
			}
			if diff := cmp.Diff([]string{"new", "other"}, called); diff != "" { // the dispatch keeps the hooks it started with
				t.Errorf("called (-want +got):\n%s", diff)
			}
			if out := ToolBefore.Dispatch(t.Context(), r, somewhere, ToolCall{}); len(out.Executions) != 1 || len(called) != 3 {
				t.Errorf("afterwards: %+v", out)
			}
		})
	}
}

func TestHostile_ThousandGoroutines(t *testing.T) {
	r, k := recorded(t)
	var calls, told atomic.Int64
	count := func(context.Context, Meta, ToolCall) (*ToolDecision, error) {
		if calls.Add(1)%50 == 0 {
			panic("now and then")
		}
		return nil, nil
	}
	for _, isolate := range isolations {
		ToolBefore.On(r, count, isolate)
	}
	ToolBefore.On(r, func(_ context.Context, _ Meta, c ToolCall) (*ToolDecision, error) {
		return &ToolDecision{Verdict: Allow, Reason: c.ID, Patch: patch(JSON(`"` + c.ID + `"`))}, nil
	})
	RunStarted.On(r, func(context.Context, Meta, events.RunStartedData) error { told.Add(1); return nil })
	RunStarted.On(r, func(context.Context, Meta, events.RunStartedData) error { told.Add(1); return errTest }, Async())
	const n = 1000
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			id := strconv.Itoa(i)
			mine, err := ForAgent(id)
			if err != nil {
				t.Error(err)
			}
			extra := ToolBefore.On(r, count, Match(mine))
			out := ToolBefore.Dispatch(t.Context(), r, Meta{Run: id, Agent: id}, ToolCall{ID: id, Args: `{}`})
			if out.Verdict != Allow || out.Reason != id || string(out.Input.Args) != `"`+id+`"` || len(out.Executions) != 5 {
				t.Errorf("%s: got %+v", id, out)
			}
			RunStarted.Dispatch(t.Context(), r, somewhere, events.RunStartedData{})
			if !r.Off(extra) {
				t.Errorf("%s: off", id)
			}
		})
	}
	wg.Wait()
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if len(r.List()) != 6 || told.Load() != 2*n || calls.Load() != 4*n {
		t.Errorf("%d hooks left, %d told, %d calls", len(r.List()), told.Load(), calls.Load())
	}
	if got := len(k.events()); got != 3*n {
		t.Errorf("%d events, want %d", got, 3*n)
	}
}

func TestHostile_LeavesNoGoroutine(t *testing.T) {
	before := goleak.IgnoreCurrent()
	r := NewRegistry(Options{})
	block, release := forever(t)
	ToolBefore.On(r, func(context.Context, Meta, ToolCall) (*ToolDecision, error) {
		block()
		return nil, nil
	}, Timeout(time.Millisecond))
	ToolBefore.On(r, func(ctx context.Context, _ Meta, _ ToolCall) (*ToolDecision, error) {
		child, stop := context.WithCancel(ctx)
		defer stop()
		go func() { <-child.Done() }()
		go func() { <-ctx.Done() }()
		return nil, nil
	})
	for range 10 {
		ToolBefore.Dispatch(t.Context(), r, somewhere, ToolCall{})
	}
	release()
	if err := goleak.Find(before); err != nil {
		t.Error(err)
	}
	if err := r.Close(t.Context()); err != nil {
		t.Error(err)
	}
	ToolBefore.Dispatch(t.Context(), r, somewhere, ToolCall{})
	if err := goleak.Find(before); err != nil {
		t.Errorf("after the registry was closed: %v", err)
	}
}

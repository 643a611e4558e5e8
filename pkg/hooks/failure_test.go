package hooks

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// failingHooks returns a hook for each way to fail, with its fault.
func failingHooks(t *testing.T) map[Fault]toolHook {
	t.Helper()
	block, _ := forever(t)
	return map[Fault]toolHook{
		"failed":          fails(errTest),
		"exit status 9":   fails(fmt.Errorf("%w: %w", Fault("exit status 9"), errTest)),
		ErrPanicked:       func(context.Context, Meta, ToolCall) (*ToolDecision, error) { panic(errTest) },
		"panicked (text)": func(context.Context, Meta, ToolCall) (*ToolDecision, error) { panic(errTest.Error()) },
		ErrExited: func(context.Context, Meta, ToolCall) (*ToolDecision, error) {
			runtime.Goexit()
			return nil, nil
		},
		ErrTimedOut: func(context.Context, Meta, ToolCall) (*ToolDecision, error) {
			block()
			return nil, nil
		},
		"timed out (politely)": func(ctx context.Context, _ Meta, _ ToolCall) (*ToolDecision, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		},
		ErrBadOutput: func(context.Context, Meta, ToolCall) (*ToolDecision, error) {
			return &ToolDecision{Verdict: "maybe"}, nil
		},
		"bad output (patch)": func(context.Context, Meta, ToolCall) (*ToolDecision, error) {
			return &ToolDecision{Verdict: Allow, Patch: patch(`{"hunter2":`), Context: "lost"}, nil
		},
	}
}

//guarantee:hook-fails
func TestFailure_EachWayTimesEachMode(t *testing.T) {
	for _, mode := range []FailureMode{0, Warn, Block, Ignore} {
		for kind := range failingHooks(t) {
			t.Run(mode.String()+"/"+string(kind), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					failInChain(t, mode, kind, failingHooks(t)[kind])
				})
			})
		}
	}
}

func failInChain(t *testing.T, mode FailureMode, kind Fault, hook toolHook) {
	t.Helper()
	fault, _, _ := strings.Cut(string(kind), " (")
	k := &keeper{t: t}
	r := NewRegistry(Options{Appender: k})
	var called []string
	ToolBefore.On(r, says(&called, "before", &ToolDecision{Verdict: Allow, Reason: "fine", Patch: patch(`{"a":1}`)}), Name("before"))
	ToolBefore.On(r, hook, Name("bad"), OnFailure(mode))
	ToolBefore.On(r, says(&called, "after", &ToolDecision{Context: "after"}), Name("after"))
	start := time.Now()
	out := ToolBefore.Dispatch(t.Context(), r, somewhere, ToolCall{Tool: "Bash", Args: `{}`})
	took := time.Since(start)

	want := Outcome[ToolCall, ToolPatch]{Verdict: Allow, Reason: "fine", Context: "after", Input: ToolCall{Tool: "Bash", Args: `{"a":1}`}, Patch: ToolPatch{Args: `{"a":1}`}, Modified: true}
	wantNames := "before bad after"
	if mode == Block {
		want.Verdict, want.Reason, want.Context = Deny, "hook bad failed: "+fault, ""
		wantNames = "before bad"
	}
	got := out
	got.By, got.Executions, got.Event = "", nil, ""
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("outcome (-want +got):\n%s", diff)
	}
	if names(out.Executions) != wantNames {
		t.Fatalf("executions %+v, want %s", out.Executions, wantNames)
	}
	isTimeout := strings.HasPrefix(fault, "timed out")
	if x := out.Executions[1]; x.Success || x.Error != fault || x.TimedOut != isTimeout || x.Verdict == Allow {
		t.Errorf("execution %+v, want the fault %s", x, fault)
	}
	if want := map[bool]time.Duration{true: DefaultTimeout}[isTimeout]; took != want {
		t.Errorf("took %v, want %v", took, want)
	}
	_, data := only[events.ToolBeforeData](t, k, events.ToolBefore)
	if diff := cmp.Diff(out.Executions, data.Executions); diff != "" || data.Verdict != want.Verdict {
		t.Errorf("recorded %s (-want +got):\n%s", data.Verdict, diff)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Second)
	defer stop()
	if err := r.Close(ctx); (err != nil) != (kind == ErrTimedOut) {
		t.Errorf("close: %v", err)
	}
}

func TestFailure_OfAnInlineHookThatEndsTooLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := NewRegistry(Options{})
		ToolBefore.On(r, func(context.Context, Meta, ToolCall) (*ToolDecision, error) {
			time.Sleep(time.Second)
			return &ToolDecision{Verdict: Allow}, nil
		}, Isolate(Inline), Timeout(time.Second))
		out := ToolBefore.Dispatch(t.Context(), r, somewhere, ToolCall{})
		if out.Verdict != None || !out.Executions[0].TimedOut || out.Executions[0].Verdict != "" || out.Executions[0].DurationMS != 1000 {
			t.Errorf("got %+v", out)
		}
	})
}

func TestFailure_AskCountsWithABadPatch(t *testing.T) {
	r := tidy(t, NewRegistry(Options{}))
	var called []string
	ToolBefore.On(r, says(&called, "", &ToolDecision{Verdict: Ask, Reason: "sure?", Patch: patch(`no`)}))
	out := ToolBefore.Dispatch(t.Context(), r, somewhere, ToolCall{Args: `{}`})
	if out.Verdict != Ask || out.Reason != "sure?" || out.Modified || out.Executions[0].Success {
		t.Errorf("got %+v", out)
	}
}

func TestFailure_NamesNoPayload(t *testing.T) {
	for kind, hook := range map[string]toolHook{
		"Error": fails(fmt.Errorf("run %s: %w", "hunter2", errTest)),
		"Panic": func(_ context.Context, _ Meta, c ToolCall) (*ToolDecision, error) { panic(string(c.Args)) },
		"Value": func(_ context.Context, _ Meta, c ToolCall) (*ToolDecision, error) { panic(c) },
	} {
		t.Run(kind, func(t *testing.T) {
			r, log := logged(t)
			id := ToolBefore.On(r, hook, Name("leaky"), OnFailure(Block))
			out := ToolBefore.Dispatch(t.Context(), r, somewhere, ToolCall{Tool: "Bash", Args: `{"password":"hunter2"}`})
			told := fmt.Sprint(out.Reason, out.Executions, log)
			if strings.Contains(told, "hunter2") {
				t.Errorf("payload in %s", told)
			}
			for _, want := range []string{string(id), "leaky", "tool.before", "coder", "run-1", "on_failure=block"} {
				if !strings.Contains(log.String(), want) {
					t.Errorf("no %s in the log: %s", want, log)
				}
			}
			if kind != "Error" && !strings.Contains(log.String(), "failure_test.go") {
				t.Errorf("no stack in the log: %s", log)
			}
		})
	}
}

func TestFailure_IgnoredIsNotLogged(t *testing.T) {
	r, log := logged(t)
	ToolBefore.On(r, fails(errTest), OnFailure(Ignore))
	ToolBefore.On(r, func(context.Context, Meta, ToolCall) (*ToolDecision, error) { panic(errTest) }, OnFailure(Ignore))
	out := ToolBefore.Dispatch(t.Context(), r, somewhere, ToolCall{})
	if log.Len() > 0 || len(out.Executions) != 2 || out.Executions[0].Success || out.Executions[1].Success {
		t.Errorf("logged %q, executions %+v", log, out.Executions)
	}
}

func TestHookExecutionError(t *testing.T) {
	r := tidy(t, NewRegistry(Options{}))
	id := RunFinished.On(r, func(context.Context, Meta, events.RunFinishedData) error {
		return fmt.Errorf("send hunter2: %w", errTest)
	}, Name("mailer"))
	out := RunFinished.Dispatch(t.Context(), r, somewhere, events.RunFinishedData{})
	if len(out.Errors) != 1 {
		t.Fatalf("errors %v", out.Errors)
	}
	err := fmt.Errorf("run: %w", out.Errors[0])
	var found *HookExecutionError
	if !errors.As(err, &found) || !errors.Is(err, errTest) {
		t.Fatalf("%v is no HookExecutionError of its cause", err)
	}
	if found.Hook != id || found.Name != "mailer" || found.Point != events.RunFinished || found.Agent != "coder" {
		t.Errorf("got %+v", found)
	}
	if want := "hook " + string(id) + " (mailer) at run.finished of coder: failed"; found.Error() != want {
		t.Errorf("got %q, want %q", found.Error(), want)
	}
}

func TestFault_IsWhatContextSays(t *testing.T) {
	for fault, want := range map[Fault]error{ErrTimedOut: context.DeadlineExceeded, ErrChainTimedOut: context.DeadlineExceeded, ErrCancelled: context.Canceled} {
		if !errors.Is(fault, want) {
			t.Errorf("%v is not %v", fault, want)
		}
	}
	if errors.Is(ErrPanicked, context.Canceled) || errors.Is(ErrBusy, context.DeadlineExceeded) {
		t.Error("other faults are context errors")
	}
}

// With the option, a hook without a failure mode blocks wherever a hook can.
func TestFailure_RegistryBlocks(t *testing.T) {
	r := tidy(t, NewRegistry(Options{OnFailure: Block}))
	ToolBefore.On(r, fails(errTest))
	broken := func(context.Context, Meta, ToolDone, ToolOutcome) (*ToolOutcome, error) { return nil, errTest }
	ToolResult.On(r, broken, Async())
	ToolResult.On(r, broken, OnFailure(Warn))
	ToolResult.On(r, broken)
	SessionStart.On(r, func(context.Context, Meta, Session) (*SessionDecision, error) { return nil, errTest })
	RunStarted.On(r, func(context.Context, Meta, events.RunStartedData) error { return errTest })
	for i, want := range []FailureMode{Block, Warn, Warn, Block, Warn, Warn} {
		if got := r.List()[i]; got.OnFailure != want {
			t.Errorf("%d at %s: %s, want %s", i, got.Point, got.OnFailure, want)
		}
	}
	if out := ToolBefore.Dispatch(t.Context(), r, somewhere, ToolCall{}); out.Verdict != Deny {
		t.Errorf("got %+v", out)
	}
	if out := ToolResult.Dispatch(t.Context(), r, somewhere, ToolDone{}, ToolOutcome{Status: events.ToolSuccess}); !out.Prevented {
		t.Errorf("got %+v", out)
	}
}

package hooks

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

//guarantee:withheld-value
func TestWithheld_Result(t *testing.T) {
	r, k := recorded(t)
	ToolResult.On(r, func(context.Context, Meta, ToolDone, ToolOutcome) (*ToolOutcome, error) { return nil, errTest },
		Name("scrub"), OnFailure(Block))
	out := ToolResult.Dispatch(t.Context(), r, somewhere, ToolDone{Call: ToolCall{Tool: "Bash"}},
		ToolOutcome{Status: events.ToolSuccess, Result: `"hunter2"`, Error: "hunter2", Stack: "hunter2", Context: "hunter2"})
	if !out.Prevented || out.Value.Status != events.ToolError || strings.Contains(out.Value.Error+out.Value.Stack+string(out.Value.Result), "hunter2") {
		t.Errorf("got %+v", out.Value)
	}
	if e, data := only[events.ToolResultData](t, k, events.ToolResult); strings.Contains(string(e.Data), "hunter2") || data.Verdict != Deny {
		t.Errorf("recorded %s", e.Data)
	}
	shown, err := r.DispatchDocument(t.Context(), Document{Point: events.ToolResult, Meta: somewhere, Tool: "Bash", Result: `"hunter2"`})
	if err != nil || shown.Verdict != Deny || strings.Contains(string(shown.Value)+shown.Context, "hunter2") {
		t.Errorf("shown %+v, %v", shown, err)
	}
}

// A hook that fails and blocks may be the one that removes secrets, so its value is in no record.
//
//guarantee:withheld-value
func TestWithheld_Value(t *testing.T) {
	const secret = `{"id":"m","role":"user","content":"hunter2","more":"hunter2"}`
	for name, options := range map[string][]Option{"Last": {OnFailure(Block), Last()}, "Anywhere": {OnFailure(Block)}} {
		t.Run(name, func(t *testing.T) {
			r, k := recorded(t)
			MessageCreate.On(r, func(context.Context, Meta, NoSubject, JSON) (*JSON, error) { return nil, errTest }, options...)
			MessageUpdate.On(r, func(context.Context, Meta, MessageID, JSON) (*JSON, error) { return nil, errTest }, options...)
			StepOutput.On(r, func(context.Context, Meta, StepState, JSON) (*JSON, error) { return nil, errTest }, options...)
			if out := MessageCreate.Dispatch(t.Context(), r, somewhere, NoSubject{}, secret); !out.Prevented {
				t.Errorf("create: %+v", out)
			}
			if out := MessageUpdate.Dispatch(t.Context(), r, somewhere, "m", secret); !out.Prevented {
				t.Errorf("update: %+v", out)
			}
			if out := StepOutput.Dispatch(t.Context(), r, somewhere, StepState{}, secret); !out.Prevented {
				t.Errorf("output: %+v", out)
			}
			for _, e := range k.events() {
				data, err := events.Payload[events.MessageData](e)
				ofMessage := e.Kind() != events.StepOutput
				if err != nil || strings.Contains(string(e.Data), "hunter2") || data.Verdict != Deny || len(data.Executions) != 1 || ofMessage && data.Message != "m" {
					t.Errorf("recorded %s %s", e.Kind(), e.Data)
				}
			}
			if n := len(k.events()); n != 3 {
				t.Errorf("%d events, want 3", n)
			}
		})
	}
}

// slowKeeper waits in its first append until it is released.
type slowKeeper struct {
	keeper

	held    atomic.Bool
	release chan struct{}
}

func (k *slowKeeper) Append(ctx context.Context, e events.Event) (events.Event, error) {
	if e.Kind() == events.HookExecuted && k.held.CompareAndSwap(false, true) {
		<-k.release
	}
	return k.keeper.Append(ctx, e)
}

// Close waits until the last execution is recorded, even if a hook returns while its timeout is
// being recorded.
func TestClose_WaitsForRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		k := &slowKeeper{keeper: keeper{t: t}, release: make(chan struct{})}
		r := NewRegistry(Options{Appender: k})
		block, unblock := forever(t)
		RunStarted.On(r, func(context.Context, Meta, events.RunStartedData) error { block(); return nil }, Async())
		RunStarted.Dispatch(t.Context(), r, somewhere, events.RunStartedData{})
		time.Sleep(DefaultTimeout) // the timeout is now being recorded
		unblock()
		var closed atomic.Bool
		go func() {
			if err := r.Close(context.Background()); err != nil {
				t.Error(err)
			}
			closed.Store(true)
		}()
		synctest.Wait()
		if closed.Load() {
			t.Error("closed before the timeout was recorded")
		}
		close(k.release)
		synctest.Wait()
		if !closed.Load() || len(k.events()) != 3 {
			t.Errorf("closed: %t, %d events, want 3", closed.Load(), len(k.events()))
		}
	})
}

// circularError is its own cause. panickyError panics when it is compared.
type circularError struct{}

func (circularError) Error() string   { return "hunter2" }
func (e circularError) Unwrap() error { return e }

type panickyError struct{}

func (panickyError) Error() string   { return "hunter2" }
func (panickyError) Is(error) bool   { panic("hunter2") }
func (panickyError) As(any) bool     { panic("hunter2") }
func (e panickyError) Unwrap() error { panic("hunter2") }

// The error of a hook is code of the hook. It neither blocks nor crashes a dispatch.
func TestFailure_ErrorsWithCode(t *testing.T) {
	for name, err := range map[string]error{"Circular": circularError{}, "Panics": panickyError{}} {
		t.Run(name, func(t *testing.T) {
			r := NewRegistry(Options{})
			ToolBefore.On(r, fails(err), Name("bad"), OnFailure(Block), Timeout(50*time.Millisecond))
			StepOutput.On(r, func(context.Context, Meta, StepState, JSON) (*JSON, error) { return nil, err }, OnFailure(Block), Timeout(50*time.Millisecond))
			RunStarted.On(r, func(context.Context, Meta, events.RunStartedData) error { return err }, Timeout(50*time.Millisecond))
			done := make(chan struct{})
			go func() {
				defer close(done)
				if out := ToolBefore.Dispatch(context.Background(), r, somewhere, ToolCall{}); out.Verdict != Deny {
					t.Errorf("got %+v", out)
				}
				if out := StepOutput.Dispatch(context.Background(), r, somewhere, StepState{}, `{}`); !out.Prevented || strings.Contains(out.Err.Error(), "hunter2") {
					t.Errorf("got %+v", out)
				}
				if out := RunStarted.Dispatch(context.Background(), r, somewhere, events.RunStartedData{}); len(out.Errors) != 1 {
					t.Errorf("got %+v", out)
				}
			}()
			select {
			case <-done:
			case <-time.After(5 * time.Second):
				t.Fatal("stalled")
			}
		})
	}
}

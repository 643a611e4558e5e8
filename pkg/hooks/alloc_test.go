package hooks

import (
	"context"
	"testing"

	"github.com/hooktrail/hooktrail/pkg/events"
)

func TestAllocations_NothingToDo(t *testing.T) {
	r := tidy(t, NewRegistry(Options{}))
	write, err := ForTool("Wri*te")
	if err != nil {
		t.Fatal(err)
	}
	agent, err := ForAgent("reviewer")
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		ToolBefore.On(r, noHook, Match(All(write, argsAre(`{}`))))
		ToolBefore.On(r, noHook, Match(agent))
		ToolResult.On(r, noTransform, WhenFailure())
		StepFinished.On(r, func(context.Context, Meta, events.StepFinishedData) error { return nil }, Match(agent))
	}
	meta, call := somewhere, ToolCall{ID: "c", Tool: "Bash", Args: `{"command":"ls"}`}
	done := ToolDone{Call: call}
	for name, dispatch := range map[string]func(){
		"Matchers":     func() { ToolBefore.Dispatch(t.Context(), r, meta, call) },
		"When":         func() { ToolResult.Dispatch(t.Context(), r, meta, done, ToolOutcome{Status: events.ToolSuccess}) },
		"Notification": func() { StepFinished.Dispatch(t.Context(), r, meta, events.StepFinishedData{}) },
		"NoHooks":      func() { PromptSubmit.Dispatch(t.Context(), r, meta, Prompt{Text: "hi"}) },
		"Recovery":     func() { Error.Dispatch(t.Context(), r, meta, Failure{}) },
		"NoRegistry":   func() { ToolBefore.Dispatch(t.Context(), nil, meta, call) },
	} {
		if n := testing.AllocsPerRun(100, dispatch); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}

// Allocations belong to the dispatch. Hooks without an opinion add none.
func TestAllocations_DoNotGrowWithTheHooks(t *testing.T) {
	for _, isolate := range []Option{Isolate(Pooled), Isolate(Inline)} {
		r := tidy(t, NewRegistry(Options{}))
		for range 20 {
			ToolBefore.On(r, noHook, isolate)
		}
		// The dispatch, its executions, their contexts and the goroutine. The race detector also
		// makes the pool drop waiters.
		if n := testing.AllocsPerRun(200, func() { ToolBefore.Dispatch(t.Context(), r, somewhere, ToolCall{}) }); n > 5 {
			t.Errorf("%v allocations", n)
		}
	}
}

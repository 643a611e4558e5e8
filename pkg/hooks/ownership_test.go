package hooks

import (
	"context"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// A hook may keep and change the value that it returned.
func TestOwnership_OfWhatAHookReturns(t *testing.T) {
	r := tidy(t, NewRegistry(Options{}))
	directives, words := []string{"always test"}, "please"
	PromptSubmit.On(r, func(context.Context, Meta, Prompt) (*PromptDecision, error) {
		return &PromptDecision{Patch: &PromptPatch{Prompt: &words, Directives: directives}}, nil
	})
	history := []Message{{ID: "1", Content: new("hi")}}
	MessagesFilter.On(r, func(context.Context, Meta, NoSubject, []Message) (*[]Message, error) { return &history, nil })
	prompt := PromptSubmit.Dispatch(t.Context(), r, somewhere, Prompt{})
	filtered := MessagesFilter.Dispatch(t.Context(), r, somewhere, NoSubject{}, nil)
	directives[0], words, *history[0].Content = "never test", "now", "ho"
	if *prompt.Patch.Prompt != "please" || prompt.Patch.Directives[0] != "always test" || *filtered.Value[0].Content != "hi" {
		t.Errorf("got %+v, %q", prompt, *filtered.Value[0].Content)
	}
}

// The caller may change the input and the result of a dispatch while asynchronous hooks still read
// them.
func TestOwnership_OfTheCaller(t *testing.T) {
	r := NewRegistry(Options{})
	changed := make(chan struct{})
	for range 2 {
		StepFinished.On(r, func(_ context.Context, _ Meta, e events.StepFinishedData) error {
			<-changed
			if e.TokensUsed.Input != 1 {
				t.Errorf("tokens %+v", e.TokensUsed)
			}
			e.TokensUsed.Input = 7
			return nil
		}, Async())
		ToolResult.On(r, func(_ context.Context, _ Meta, _ ToolDone, o ToolOutcome) (*ToolOutcome, error) {
			<-changed
			if *o.ExitCode != 1 {
				t.Errorf("exit code %d", *o.ExitCode)
			}
			*o.ExitCode = 7
			return nil, nil
		}, Async())
	}
	step := events.StepFinishedData{TokensUsed: &events.Tokens{Input: 1}}
	StepFinished.Dispatch(t.Context(), r, somewhere, step)
	out := ToolResult.Dispatch(t.Context(), r, somewhere, ToolDone{}, ToolOutcome{Status: events.ToolSuccess, ExitCode: new(1)})
	step.TokensUsed.Input, *out.Value.ExitCode = 2, 2
	close(changed)
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if step.TokensUsed.Input != 2 || *out.Value.ExitCode != 2 {
		t.Errorf("the caller's own are %d and %d", step.TokensUsed.Input, *out.Value.ExitCode)
	}
}

// Asynchronous hooks do not run for a value that is not used.
func TestOwnership_PreventedValueGoesNowhere(t *testing.T) {
	r := NewRegistry(Options{})
	var mu sync.Mutex
	var called []string
	hook := func(name string, err error) func(context.Context, Meta, StepState, JSON) (*JSON, error) {
		return func(context.Context, Meta, StepState, JSON) (*JSON, error) {
			mu.Lock()
			defer mu.Unlock()
			called = append(called, name)
			return nil, err
		}
	}
	StepOutput.On(r, hook("later", nil), Async())
	StepOutput.On(r, hook("bad", errTest), OnFailure(Block))
	out := StepOutput.Dispatch(t.Context(), r, somewhere, StepState{}, `{}`)
	if err := r.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"bad"}, called); diff != "" || !out.Prevented {
		t.Errorf("prevented: %t, called (-want +got):\n%s", out.Prevented, diff)
	}
}

package hooks_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

func TestEngine_Prompt(t *testing.T) {
	e, j := engine(t, hooks.Meta{Run: "r"})
	hooks.PromptSubmit.On(e.Registry(), func(_ context.Context, _ hooks.Meta, p hooks.Prompt) (*hooks.PromptDecision, error) {
		switch p.Text {
		case "no":
			return hooks.DenyPrompt("because"), nil
		case "ask":
			return &hooks.PromptDecision{Verdict: hooks.Ask, Reason: "sure?"}, nil
		}
		return hooks.ModifyPrompt(p.Text + "!"), nil
	})
	hooks.Approval.On(e.Registry(), func(_ context.Context, _ hooks.Meta, r hooks.ApprovalRequest) (*hooks.ApprovalDecision, error) {
		if r.Call.Tool != "prompt.submit" || r.Call.Args != `{"prompt":"ask"}` || r.Prompt != "sure?" {
			t.Errorf("got %+v", r)
		}
		return hooks.Approve(), nil
	})
	var got []string
	submit := func(_ context.Context, out hooks.PromptOutcome) error {
		got = append(got, out.Input.Text)
		if out.Input.Text == "fail!" {
			return errors.New("failed")
		}
		return nil
	}
	for _, text := range []string{"hi", "ask", "no", "fail"} {
		err := e.Prompt(t.Context(), hooks.Prompt{Text: text}, submit)
		denied, ok := errors.AsType[*hooks.DeniedError](err)
		if (err != nil) != (text == "no" || text == "fail") || ok != (text == "no") || ok && denied.Reason != "because" {
			t.Errorf("%s: got %v", text, err)
		}
	}
	if !slices.Equal(got, []string{"hi!", "ask", "fail!"}) {
		t.Errorf("submitted %q", got)
	}
	if n := len(j.events()); n != 5 {
		t.Errorf("%d events", n)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := e.Prompt(ended, hooks.Prompt{Text: "hi"}, submit); !errors.Is(err, context.Canceled) || len(got) != 3 {
		t.Errorf("got %v, submitted %q", err, got)
	}
}

func TestEngine_Compact(t *testing.T) {
	e, _ := engine(t, hooks.Meta{Run: "r"})
	hooks.CompactBefore.On(e.Registry(), func(_ context.Context, _ hooks.Meta, c hooks.Compaction) (*hooks.CompactionDecision, error) {
		if c.Trigger == "auto" {
			return &hooks.CompactionDecision{Verdict: hooks.Deny, Reason: "not yet"}, nil
		}
		return hooks.ModifyCompaction(hooks.CompactionPatch{Preserve: []string{"the plan"}}), nil
	})
	kept := ""
	compact := func(_ context.Context, out hooks.CompactionOutcome) error {
		kept = out.Patch.Preserve[0]
		panic("full")
	}
	err := e.Compact(t.Context(), hooks.Compaction{Trigger: "manual"}, compact)
	if p, ok := errors.AsType[*hooks.PanicError](err); !ok || p.Value != "full" || kept != "the plan" {
		t.Errorf("got %v, kept %q", err, kept)
	}
	if err := e.Compact(t.Context(), hooks.Compaction{Trigger: "auto"}, compact); !errors.Is(err, hooks.ErrDenied) {
		t.Errorf("got %v", err)
	}
}

func TestEngine_Model(t *testing.T) {
	e, j := engine(t, hooks.Meta{Run: "r"})
	hooks.LLMRequest.On(e.Registry(), change[hooks.NoSubject](func(m []hooks.LLMMessage) []hooks.LLMMessage {
		return append(m, hooks.LLMMessage{Role: "system"})
	}))
	hooks.Error.On(e.Registry(), func(_ context.Context, _ hooks.Meta, f hooks.Failure) (*hooks.Recovery, error) {
		if f.Type != hooks.ModelError || f.Model != "large" {
			t.Errorf("got %+v", f)
		}
		return &hooks.Recovery{Retry: true, Fallback: "small"}, nil
	})
	in := []hooks.LLMMessage{{Role: "user"}}
	got, err := e.Model(t.Context(), "large", in, func(_ context.Context, a hooks.Attempt, m []hooks.LLMMessage) (events.ResponseCompletedData, error) {
		if len(m) != 2 || m[0].Role != "user" || m[1].Role != "system" {
			t.Errorf("got %+v", m)
		}
		m[0].Role = "changed"
		if a.Model == "large" {
			return events.ResponseCompletedData{Text: "half"}, errors.New("overloaded")
		}
		return events.ResponseCompletedData{Text: "done"}, nil
	})
	if err != nil || got.Text != "done" || got.Model != "small" || in[0].Role != "user" {
		t.Errorf("got %+v, %v", got, err)
	}
	if kinds := j.kinds(); !slices.Equal(kinds, []string{"llm.request", "error", "model.switched", "response.completed"}) {
		t.Errorf("recorded %q", kinds)
	}
}

func TestEngine_ModelWithheld(t *testing.T) {
	e, _ := engine(t, hooks.Meta{Run: "r"})
	hooks.LLMRequest.On(e.Registry(), func(context.Context, hooks.Meta, hooks.NoSubject, []hooks.LLMMessage) (*[]hooks.LLMMessage, error) {
		return nil, errors.New("secret")
	}, hooks.OnFailure(hooks.Block))
	_, err := e.Model(t.Context(), "m", nil, func(context.Context, hooks.Attempt, []hooks.LLMMessage) (events.ResponseCompletedData, error) {
		t.Error("called")
		return events.ResponseCompletedData{}, nil
	})
	if _, ok := errors.AsType[*hooks.HookExecutionError](err); !ok {
		t.Errorf("got %v", err)
	}
}

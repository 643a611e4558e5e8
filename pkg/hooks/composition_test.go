package hooks

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/pkg/events"
)

func TestComposition_DenyEndsTheChain(t *testing.T) {
	for level, isolate := range isolations {
		t.Run(level, func(t *testing.T) {
			r, k := recorded(t)
			var called []string
			ToolBefore.On(r, says(&called, "1", nil), Name("1"), isolate)
			second := ToolBefore.On(r, says(&called, "2", &ToolDecision{Verdict: Deny, Reason: "no"}), Name("2"), isolate)
			ToolBefore.On(r, says(&called, "3", nil), Name("3"), isolate)
			out := ToolBefore.Dispatch(t.Context(), r, somewhere, ToolCall{ID: "c", Tool: "Bash", Args: `{}`})
			if diff := cmp.Diff([]string{"1", "2"}, called); diff != "" {
				t.Errorf("called (-want +got):\n%s", diff)
			}
			if out.Verdict != Deny || out.Reason != "no" || out.By != second || names(out.Executions) != "1 2" {
				t.Errorf("got %+v", out)
			}
			e, data := only[events.ToolBeforeData](t, k, events.ToolBefore)
			if data.Verdict != Deny || data.Reason != "no" || names(data.Executions) != "1 2" || e.ID != out.Event || e.ToolCall != "c" {
				t.Errorf("recorded %s %+v", e.ID, data)
			}
		})
	}
}

func TestComposition_StrongestVerdictWins(t *testing.T) {
	tests := []struct {
		verdicts []Verdict
		want     Verdict
		by       int
	}{
		{nil, None, -1},
		{[]Verdict{""}, None, -1},
		{[]Verdict{None, "", None}, None, -1},
		{[]Verdict{Allow, None, Deny}, Deny, 2},
		{[]Verdict{Allow, Ask, Allow}, Ask, 1},
		{[]Verdict{Ask, Allow, Deny}, Deny, 2},
		{[]Verdict{None, Allow, "", Allow}, Allow, 1},
		{[]Verdict{Ask, Ask}, Ask, 0},
		{[]Verdict{Deny, Allow}, Deny, 0},
	}
	for _, tt := range tests {
		r := tidy(t, NewRegistry(Options{}))
		var called []string
		var by ID
		for i, v := range tt.verdicts {
			id := ToolBefore.On(r, says(&called, "", &ToolDecision{Verdict: v, Reason: string(v)}))
			if i == tt.by {
				by = id
			}
		}
		out := ToolBefore.Dispatch(t.Context(), r, somewhere, ToolCall{})
		reason := string(tt.want)
		if tt.want == None {
			reason = ""
		}
		if out.Verdict != tt.want || out.By != by || out.Reason != reason {
			t.Errorf("%q: got %s by %q because %q, want %s by %q", tt.verdicts, out.Verdict, out.By, out.Reason, tt.want, by)
		}
	}
}

func TestComposition_PatchesAreChainedAndReturned(t *testing.T) {
	r, k := recorded(t)
	var seen []JSON
	watch := func(_ context.Context, _ Meta, c ToolCall) (*ToolDecision, error) {
		seen = append(seen, c.Args)
		return nil, nil
	}
	var called []string
	ToolBefore.On(r, says(&called, "a", &ToolDecision{Patch: patch(`{"a":1}`), Context: "A"}))
	ToolBefore.On(r, watch)
	ToolBefore.On(r, says(&called, "c", &ToolDecision{Verdict: Ask, Patch: patch(`{"c":1}`), Context: "C"}))
	ToolBefore.On(r, watch)
	out := ToolBefore.Dispatch(t.Context(), r, somewhere, ToolCall{Tool: "Bash", Args: `{}`})
	if diff := cmp.Diff([]JSON{`{"a":1}`, `{"c":1}`}, seen); diff != "" {
		t.Errorf("seen (-want +got):\n%s", diff)
	}
	if out.Verdict != Ask || out.Input.Args != `{"c":1}` || out.Patch.Args != `{"c":1}` || !out.Modified || out.Context != "A\n\nC" {
		t.Errorf("got %+v", out)
	}
	_, data := only[events.ToolBeforeData](t, k, events.ToolBefore)
	if string(data.Args) != `{}` || string(data.PatchedArgs) != `{"c":1}` || data.Context != "A\n\nC" {
		t.Errorf("recorded %+v", data)
	}
}

func TestComposition_DeniedCallHasTheArgsItWasJudgedOn(t *testing.T) {
	r, k := recorded(t)
	var called []string
	ToolBefore.On(r, says(&called, "a", &ToolDecision{Patch: patch(`{"judged":true}`)}))
	ToolBefore.On(r, says(&called, "b", &ToolDecision{Verdict: Deny, Patch: patch(`{"never":true}`), Context: "why"}))
	out := ToolBefore.Dispatch(t.Context(), r, somewhere, ToolCall{Tool: "Bash", Args: `{}`})
	if out.Input.Args != `{"judged":true}` || out.Verdict != Deny || out.Context != "why" {
		t.Errorf("got %+v", out)
	}
	if _, data := only[events.ToolBeforeData](t, k, events.ToolBefore); string(data.PatchedArgs) != `{"judged":true}` {
		t.Errorf("recorded %+v", data)
	}
}

func TestComposition_GatheredHooksSeeOneSnapshot(t *testing.T) {
	r, k := recorded(t)
	hook := func(patch JSON, context_ string) func(context.Context, Meta, Step) (*StepDecision, error) {
		return func(_ context.Context, _ Meta, s Step) (*StepDecision, error) {
			if s.State != `{"n":1,"keep":"<b>"}` {
				t.Errorf("state %s", s.State)
			}
			return &StepDecision{Patch: &StepPatch{State: patch}, Context: context_}, nil
		}
	}
	StepBefore.On(r, hook(`{"n":2,"a":1.50}`, "first"))
	StepBefore.On(r, hook(`{"n":3,"b":null}`, "second"))
	out := StepBefore.Dispatch(t.Context(), r, somewhere, Step{State: `{"n":1,"keep":"<b>"}`})
	if out.Input.State != `{"a":1.50,"b":null,"keep":"<b>","n":3}` || out.Patch.State != `{"a":1.50,"b":null,"n":3}` {
		t.Errorf("got %+v", out)
	}
	if out.Context != "first\n\nsecond" || !out.Modified || out.Verdict != None {
		t.Errorf("got %+v", out)
	}
	if _, data := only[events.StepBeforeData](t, k, events.StepBefore); string(data.Merged) != string(out.Patch.State) || string(data.State) != `{"n":1,"keep":"<b>"}` {
		t.Errorf("recorded %+v", data)
	}
}

func TestComposition_SessionStartCannotDeny(t *testing.T) {
	for _, v := range []Verdict{Deny, Ask} {
		r, k := recorded(t)
		SessionStart.On(r, func(context.Context, Meta, Session) (*SessionDecision, error) {
			return &SessionDecision{Verdict: v, Context: "lost", Patch: &SessionPatch{Model: "lost"}}, nil
		}, OnFailure(Block))
		SessionStart.On(r, func(_ context.Context, _ Meta, s Session) (*SessionDecision, error) {
			return &SessionDecision{Verdict: Allow, Context: "kept", Patch: &SessionPatch{Config: `{"x":1}`}}, nil
		})
		out := SessionStart.Dispatch(t.Context(), r, somewhere, Session{Model: "m", Config: `{"y":2}`})
		if out.Verdict != Allow || out.Context != "kept" || out.Input.Model != "m" || out.Input.Config != `{"x":1,"y":2}` {
			t.Errorf("%s: got %+v", v, out)
		}
		if x := out.Executions; x[0].Success || x[0].Error != string(ErrBadOutput) || !x[1].Success {
			t.Errorf("%s: executions %+v", v, x)
		}
		if _, data := only[events.SessionStartData](t, k, events.SessionStart); data.Verdict != Allow || len(data.Executions) != 2 {
			t.Errorf("%s: recorded %+v", v, data)
		}
	}
}

func TestComposition_Recovery(t *testing.T) {
	yes := func(model string) *Recovery { return &Recovery{Retry: true, Fallback: model} }
	tests := []struct {
		name    string
		answers []*Recovery
		want    *Recovery
		by      int
	}{
		{"Nobody", []*Recovery{nil, nil}, nil, -1},
		{"FirstAnswer", []*Recovery{nil, yes("a"), yes("b")}, yes("a"), 1},
		{"RefusalBeatsRetry", []*Recovery{yes("a"), {Prompt: "p"}, yes("b")}, &Recovery{Prompt: "p"}, 1},
		{"FirstRefusal", []*Recovery{{Prompt: "p"}, yes("a"), {Prompt: "q"}}, &Recovery{Prompt: "p"}, 0},
		{"NegativeBackoff", []*Recovery{{Retry: true, Backoff: -1}}, &Recovery{Retry: true}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, k := recorded(t)
			var by ID
			calls := 0
			for i, a := range tt.answers {
				id := Error.On(r, func(_ context.Context, _ Meta, f Failure) (*Recovery, error) {
					calls++
					if f.Err != errTest || f.Type != ModelError || f.Model != "m" || f.Attempt != 2 { //nolint:errorlint // the very same
						t.Errorf("got %+v", f)
					}
					return a, nil
				})
				if i == tt.by {
					by = id
				}
			}
			out := Error.Dispatch(t.Context(), r, somewhere, Failure{Err: errTest, Type: ModelError, Model: "m", Attempt: 2})
			if diff := cmp.Diff(tt.want, out.Recovery); diff != "" || out.By != by {
				t.Errorf("recovery by %q, want %q (-want +got):\n%s", out.By, by, diff)
			}
			if calls != len(tt.answers) || len(out.Executions) != calls {
				t.Errorf("%d calls, %d executions of %d hooks", calls, len(out.Executions), len(tt.answers))
			}
			_, data := only[events.ErrorData](t, k, events.Error)
			if (data.Retry == nil) != (tt.want == nil) || data.Error.Message != errTest.Error() || data.Attempt != 2 {
				t.Errorf("recorded %+v", data)
			}
		})
	}
}

func TestComposition_BlockingHookThatFailsRefusesToRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, k := recorded(t)
		block, release := forever(t)
		var asked atomic.Int64
		answer := func(name string, opts ...Option) ID {
			return Error.On(r, func(context.Context, Meta, Failure) (*Recovery, error) {
				asked.Add(1)
				if name == "stuck" {
					block()
				}
				return &Recovery{Retry: true}, nil
			}, opts...)
		}
		answer("first")
		stuck := answer("stuck", OnFailure(Block))
		answer("last", Isolate(Inline))
		out := Error.Dispatch(t.Context(), r, somewhere, Failure{Err: errTest})
		if out.Recovery == nil || out.Recovery.Retry || out.By != stuck || asked.Load() != 3 || len(out.Executions) != 3 {
			t.Errorf("asked %d, got %+v", asked.Load(), out)
		}
		if _, data := only[events.ErrorData](t, k, events.Error); data.Retry == nil || *data.Retry {
			t.Errorf("recorded %+v", data)
		}
		release()
	})
}

func TestComposition_Order(t *testing.T) {
	r := tidy(t, NewRegistry(Options{}))
	var called []string
	for _, h := range []struct {
		name     string
		priority int
	}{{"c", 0}, {"e", 7}, {"d", 0}, {"a", -3}, {"b", -3}, {"f", 7}} {
		ToolBefore.On(r, says(&called, h.name, nil), Name(h.name), Priority(h.priority))
	}
	out := ToolBefore.Dispatch(t.Context(), r, somewhere, ToolCall{})
	if got := strings.Join(called, " "); got != "a b c d e f" || names(out.Executions) != got {
		t.Errorf("called %s, executions %s", got, names(out.Executions))
	}
	list := r.List()
	if !slices.IsSortedFunc(list, func(a, b Registration) int { return a.Registered.Compare(b.Registered) }) || list[0].Name != "c" || list[5].Name != "f" {
		t.Errorf("listed %+v", list)
	}
}

func TestComposition_MixedIsolation(t *testing.T) {
	r := tidy(t, NewRegistry(Options{}))
	var called []string
	for i, level := range []Isolation{Inline, Pooled, External, Inline, Inline, Pooled} {
		name := string(rune('a' + i))
		ToolBefore.On(r, says(&called, name, &ToolDecision{Context: name}), Name(name), Isolate(level))
	}
	never, err := ForTool("Write")
	if err != nil {
		t.Fatal(err)
	}
	ToolBefore.On(r, says(&called, "never", nil), Match(never))
	out := ToolBefore.Dispatch(t.Context(), r, somewhere, ToolCall{Tool: "Bash"})
	if got := strings.Join(called, " "); got != "a b c d e f" || out.Context != "a\n\nb\n\nc\n\nd\n\ne\n\nf" {
		t.Errorf("called %s, context %q", got, out.Context)
	}
}

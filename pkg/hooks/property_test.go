package hooks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/hooktrail/hooktrail/pkg/events"
)

type opinion struct {
	Name     string
	Verdict  Verdict
	Args     JSON
	Context  string
	Fails    bool
	Mode     FailureMode
	Level    Isolation
	Priority int
}

func (o opinion) register(r *Registry) {
	ToolBefore.On(r, func(context.Context, Meta, ToolCall) (*ToolDecision, error) {
		if o.Fails {
			return nil, errTest
		}
		d := &ToolDecision{Verdict: o.Verdict, Reason: o.Name, Context: o.Context}
		if o.Args != "" {
			d.Patch = patch(o.Args)
		}
		return d, nil
	}, Name(o.Name), OnFailure(o.Mode), Isolate(o.Level), Priority(o.Priority))
}

var levels = rapid.SampledFrom([]Isolation{Pooled, Inline, External})

var opinions = rapid.Custom(func(t *rapid.T) []opinion {
	n := rapid.IntRange(0, 6).Draw(t, "hooks")
	list := make([]opinion, n)
	for i := range list {
		list[i] = opinion{
			Name:     fmt.Sprint("hook", i),
			Verdict:  rapid.SampledFrom([]Verdict{"", None, Allow, Allow, Ask, Deny}).Draw(t, "verdict"),
			Args:     rapid.SampledFrom([]JSON{"", "", `{"n":1}`, `{"n":2}`}).Draw(t, "args"),
			Context:  rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "context"),
			Fails:    rapid.IntRange(0, 5).Draw(t, "fails") == 0,
			Mode:     rapid.SampledFrom([]FailureMode{Warn, Block, Ignore}).Draw(t, "mode"),
			Level:    levels.Draw(t, "level"),
			Priority: rapid.IntRange(-1, 1).Draw(t, "priority"),
		}
	}
	return list
})

// fold is a direct implementation of the rules for chains.
func fold(list []opinion, call ToolCall) (out Outcome[ToolCall, ToolPatch], by string) {
	out = Outcome[ToolCall, ToolPatch]{Verdict: None, Input: call}
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b opinion) int { return a.Priority - b.Priority })
	for _, o := range list {
		if o.Fails {
			if o.Mode != Block {
				continue
			}
			o = opinion{Name: o.Name, Verdict: Deny}
		}
		out.Context = joinContext(out.Context, o.Context)
		if o.Verdict != Deny && o.Args != "" {
			out.Modified = out.Modified || o.Args != out.Input.Args
			out.Input.Args, out.Patch.Args = o.Args, o.Args
		}
		if rank(o.Verdict) > rank(out.Verdict) {
			out.Verdict, by = o.Verdict, o.Name
		}
		if o.Verdict == Deny {
			break
		}
	}
	return out, by
}

// decide returns the outcome without the values that differ between registries, and the deciding
// hook.
func decide(t *rapid.T, r *Registry, call ToolCall) (Outcome[ToolCall, ToolPatch], string) {
	out := ToolBefore.Dispatch(context.Background(), r, Meta{}, call)
	by := ""
	for _, reg := range r.List() {
		if reg.ID == out.By {
			by = reg.Name
		}
	}
	if out.Verdict != None && out.Reason != by && out.Reason != "hook "+by+" failed: failed" {
		t.Errorf("%s by %s because %q", out.Verdict, by, out.Reason)
	}
	out.Reason, out.By, out.Executions = "", "", nil
	return out, by
}

func TestProperty_ChainsFollowTheRulings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := NewRegistry(Options{})
		defer r.Close(context.Background())
		list := opinions.Draw(t, "opinions")
		for _, o := range list {
			o.register(r)
		}
		call := ToolCall{Tool: "Bash", Args: `{"n":0}`}
		want, wantBy := fold(list, call)
		got, by := decide(t, r, call)
		if diff := cmp.Diff(want, got); diff != "" || by != wantBy {
			t.Errorf("decided by %q, want %q (-want +got):\n%s", by, wantBy, diff)
		}
	})
}

// silences are the ways to have no opinion.
var silences = []toolHook{
	noHook,
	func(context.Context, Meta, ToolCall) (*ToolDecision, error) {
		return &ToolDecision{}, nil
	},
	func(context.Context, Meta, ToolCall) (*ToolDecision, error) {
		return &ToolDecision{Verdict: None, Reason: "no opinion", Patch: &ToolPatch{}}, nil
	},
	fails(errTest),
	func(context.Context, Meta, ToolCall) (*ToolDecision, error) { panic("no opinion") },
	func(_ context.Context, m Meta, c ToolCall) (*ToolDecision, error) {
		m.Run, c.Args, c.Tool = "mutated", `{}`, "mutated"
		return nil, nil
	},
}

func TestProperty_HookWithoutOpinionChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		plain, more := NewRegistry(Options{}), NewRegistry(Options{})
		defer plain.Close(context.Background())
		defer more.Close(context.Background())
		silent := func() {
			for range rapid.IntRange(0, 2).Draw(t, "silent") {
				ToolBefore.On(more, rapid.SampledFrom(silences).Draw(t, "silence"),
					Priority(rapid.IntRange(-2, 2).Draw(t, "priority")), Isolate(levels.Draw(t, "level")))
			}
		}
		for _, o := range opinions.Draw(t, "opinions") {
			silent()
			o.register(plain)
			o.register(more)
		}
		silent()
		call := ToolCall{Tool: "Bash", Args: `{"n":0}`}
		want, wantBy := decide(t, plain, call)
		got, by := decide(t, more, call)
		if diff := cmp.Diff(want, got); diff != "" || by != wantBy {
			t.Errorf("decided by %q, want %q (-without +with):\n%s", by, wantBy, diff)
		}
	})
}

func TestProperty_NotificationsChangeNothing(t *testing.T) {
	payloads := rapid.Custom(func(t *rapid.T) events.StepFinishedData {
		return events.StepFinishedData{
			StepStatus: rapid.SampledFrom([]events.StepStatus{events.StepCompleted, events.StepFailed}).Draw(t, "status"),
			TokensUsed: rapid.Ptr(rapid.Map(rapid.Int64Range(0, 1<<40), func(n int64) events.Tokens { return events.Tokens{Input: n} }), true).Draw(t, "tokens"),
			Metadata:   rapid.MapOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.String()), func(s []string) any { return s })).Draw(t, "metadata"),
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		k := &keeper{t: t}
		r := NewRegistry(Options{Appender: k})
		state := payloads.Draw(t, "state")
		before, err := Marshal(state)
		if err != nil {
			t.Fatal(err)
		}
		n := rapid.IntRange(0, 4).Draw(t, "hooks")
		for range n {
			how := rapid.IntRange(0, 2).Draw(t, "how")
			opts := []Option{Isolate(levels.Draw(t, "level")), OnFailure(rapid.SampledFrom([]FailureMode{Warn, Block, Ignore}).Draw(t, "mode"))}
			if rapid.Bool().Draw(t, "async") {
				opts = append(opts, Async())
			}
			StepFinished.On(r, func(_ context.Context, _ Meta, e events.StepFinishedData) error {
				e.StepStatus = "mutated"
				if e.TokensUsed != nil {
					e.TokensUsed.Input++
				}
				for key, v := range e.Metadata {
					list, _ := v.([]string)
					for i := range list {
						list[i] = "mutated"
					}
					delete(e.Metadata, key)
				}
				return map[int]error{1: errTest, 2: errors.New("mutated")}[how]
			}, opts...)
		}
		out := StepFinished.Dispatch(context.Background(), r, somewhere, state)
		if err := r.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
		after, err := Marshal(state)
		if err != nil || after != before {
			t.Errorf("the engine's state is %s, was %s: %v", after, before, err)
		}
		data := payloadOf[events.StepFinishedData](t, k.events()[0])
		data.Executions = nil
		if recorded, err := Marshal(data); err != nil || recorded != before {
			t.Errorf("recorded %s of %s: %v", recorded, before, err)
		}
		if got := len(k.events()) - 1 + len(out.Executions); got != n {
			t.Errorf("%d executions of %d hooks", got, n)
		}
	})
}

package hooks

import (
	"context"
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hooktrail/hooktrail/pkg/events"
)

func noHook(context.Context, Meta, ToolCall) (*ToolDecision, error) { return nil, nil }

func noTransform(context.Context, Meta, ToolDone, ToolOutcome) (*ToolOutcome, error) { return nil, nil }

func TestRegistry_OffTwice(t *testing.T) {
	r := tidy(t, NewRegistry(Options{}))
	id := ToolBefore.On(r, noHook)
	if !regexp.MustCompile(`^hook-[0-9a-f]{8}$`).MatchString(string(id)) {
		t.Errorf("id %q", id)
	}
	if !r.Off(id) || r.Off(id) || r.Off("hook-00000000") {
		t.Error("off is not true once and false then")
	}
	if out := ToolBefore.Dispatch(t.Context(), r, somewhere, ToolCall{}); len(out.Executions) > 0 || len(r.List()) > 0 {
		t.Errorf("got %+v, list %+v", out, r.List())
	}
}

func TestRegistry_List(t *testing.T) {
	r := tidy(t, NewRegistry(Options{Timeout: time.Second}))
	agent, err := ForAgent("dev*")
	if err != nil {
		t.Fatal(err)
	}
	tool, err := ForTool("Ba*")
	if err != nil {
		t.Fatal(err)
	}
	a := ToolBefore.On(r, noHook, Name("a"), Priority(3), Match(All(agent, tool)), Isolate(External), Timeout(time.Minute))
	b := ToolResult.On(r, noTransform, Async(), Timeout(-1))
	c := MessageCreate.On(r, func(context.Context, Meta, NoSubject, JSON) (*JSON, error) { return nil, nil }, OnFailure(Ignore))
	want := []Registration{
		{ID: a, Name: "a", Point: events.ToolBefore, Class: DecisionClass, Priority: 3, Agent: "dev*", Tool: "Ba*", Timeout: time.Minute, OnFailure: Warn, Isolation: External},
		{ID: b, Point: events.ToolResult, Class: TransformClass, Agent: "*", Tool: "*", Timeout: time.Second, OnFailure: Warn, Async: true},
		{ID: c, Point: events.MessageCreate, Class: TransformClass, Agent: "*", Tool: "*", Timeout: time.Second, OnFailure: Ignore},
	}
	if diff := cmp.Diff(want, r.List(), cmpopts.IgnoreFields(Registration{}, "Registered")); diff != "" {
		t.Errorf("list (-want +got):\n%s", diff)
	}
}

func TestRegistry_RefusedOptions(t *testing.T) {
	prompt := func(context.Context, Meta, Prompt) (*PromptDecision, error) { return nil, nil }
	history := func(context.Context, Meta, NoSubject, []Message) (*[]Message, error) { return nil, nil }
	started := func(context.Context, Meta, events.RunStartedData) error { return nil }
	tests := []struct {
		name string
		on   func(*Registry) ID
		want error
	}{
		{"AsyncDecision", func(r *Registry) ID { return PromptSubmit.On(r, prompt, Async()) }, errAsyncLost},
		{"AsyncBeforeTheFact", func(r *Registry) ID { return MessagesFilter.On(r, history, Async()) }, errAsync},
		{"WhenNothingEnds", func(r *Registry) ID { return ToolBefore.On(r, noHook, WhenFailure()) }, errWhen},
		{"WhenRunStarts", func(r *Registry) ID { return RunStarted.On(r, started, WhenSuccess()) }, errWhen},
		{"FailureMode", func(r *Registry) ID { return ToolBefore.On(r, noHook, OnFailure(9)) }, errOption},
		{"Isolation", func(r *Registry) ID { return ToolBefore.On(r, noHook, Isolate(9)) }, errOption},
		{"NilMatcher", func(r *Registry) ID { return ToolBefore.On(r, noHook, Match(nil)) }, errOption},
		{"NilEnabled", func(r *Registry) ID { return ToolBefore.On(r, noHook, Enabled(nil)) }, errOption},
		{"NilHook", func(r *Registry) ID { return ToolBefore.On(r, nil) }, errNoHook},
		{"NilTransform", func(r *Registry) ID { return ToolResult.On(r, nil) }, errNoHook},
		{"NilNotification", func(r *Registry) ID { return RunStarted.On(r, nil) }, errNoHook},
		{"NilRecovery", func(r *Registry) ID { return Error.On(r, nil) }, errNoHook},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := NewRegistry(Options{})
			if id := tt.on(r); id != "" || !errors.Is(r.Err(), tt.want) || len(r.List()) > 0 {
				t.Errorf("got %q, %v; want %v", id, r.Err(), tt.want)
			}
		})
	}
	if !strings.Contains(errAsyncLost.Error(), "the decision would be lost") {
		t.Error(errAsyncLost)
	}
}

func TestRegistry_Nil(t *testing.T) {
	var r *Registry
	if id := ToolBefore.On(r, noHook); id != "" || r.Err() == nil || r.Off("x") || r.List() != nil || r.Close(t.Context()) != nil {
		t.Error("a nil registry is more than nothing")
	}
	if out := ToolBefore.Dispatch(t.Context(), r, somewhere, ToolCall{Tool: "x"}); out.Verdict != None || out.Input.Tool != "x" {
		t.Errorf("got %+v", out)
	}
	if out := ToolResultStore.Dispatch(t.Context(), r, somewhere, ToolCall{}, `{}`); out.Value != `{}` || out.Prevented {
		t.Errorf("got %+v", out)
	}
	if out := RunStarted.Dispatch(t.Context(), r, somewhere, events.RunStartedData{}); out.Errors != nil {
		t.Errorf("got %+v", out)
	}
	if out := Error.Dispatch(t.Context(), r, somewhere, Failure{}); out.Recovery != nil {
		t.Errorf("got %+v", out)
	}
}

func TestOption_Enabled(t *testing.T) {
	r := tidy(t, NewRegistry(Options{}))
	var called []string
	forRun := func(run string) Option {
		return Enabled(func(_ context.Context, m Meta) bool { return m.Run == run })
	}
	ToolBefore.On(r, says(&called, "mine", nil), forRun("run-1"), Name("mine"))
	ToolBefore.On(r, says(&called, "other", nil), forRun("run-2"), Name("other"))
	ToolBefore.On(r, says(&called, "both", nil), forRun("run-1"), forRun("run-2"), Name("both"))
	ToolBefore.On(r, says(&called, "bad", nil), Enabled(func(context.Context, Meta) bool { panic("no") }), Name("bad"), OnFailure(Block))
	out := ToolBefore.Dispatch(t.Context(), r, somewhere, ToolCall{})
	if got := strings.Join(called, " "); got != "mine" || names(out.Executions) != "mine bad" || out.Verdict != Deny {
		t.Errorf("called %s, got %+v", got, out)
	}
}

type argsAre JSON

func (a argsAre) Match(_ Meta, s Subject) bool {
	if a == "" {
		panic("no args")
	}
	return s.Args == JSON(a)
}

func TestOption_Match(t *testing.T) {
	r := tidy(t, NewRegistry(Options{}))
	var called []string
	ToolBefore.On(r, says(&called, "a", &ToolDecision{Patch: patch(`{"n":2}`)}), Match(argsAre(`{"n":1}`)), Name("a"))
	ToolBefore.On(r, says(&called, "b", nil), Match(argsAre(`{"n":1}`)), Name("b"))
	ToolBefore.On(r, says(&called, "c", nil), Match(All(argsAre(`{"n":2}`), nil)), Name("c"))
	ToolBefore.On(r, says(&called, "d", nil), Match(argsAre("")), Name("d"))
	out := ToolBefore.Dispatch(t.Context(), r, somewhere, ToolCall{Tool: "Bash", Args: `{"n":1}`})
	if got := strings.Join(called, " "); got != "a c" || names(out.Executions) != "a c d" || out.Executions[2].Error != "panicked" {
		t.Errorf("called %s, got %+v", got, out)
	}
}

func TestPoints(t *testing.T) {
	points := Points()
	if len(points) != 26 {
		t.Fatalf("%d points", len(points))
	}
	classes := map[Class]int{}
	for i, p := range points {
		classes[p.Class]++
		if k := events.Kinds()[i]; p.Kind != k {
			t.Errorf("point %d is %s, its kind %s", i, p.Kind, k)
		}
		for _, name := range append(p.Aliases, string(p.Kind)) {
			if got, ok := PointNamed(name); !ok || got.Kind != p.Kind {
				t.Errorf("%s is %v", name, got)
			}
		}
		if untyped, err := untypedPoint(p.Kind); err != nil || untyped.Kind() != p.Kind {
			t.Errorf("%s: %v", p.Kind, err)
		}
	}
	if diff := cmp.Diff(map[Class]int{DecisionClass: 8, TransformClass: 7, NotificationClass: 11}, classes); diff != "" {
		t.Errorf("classes (-want +got):\n%s", diff)
	}
	for _, name := range []string{
		"PreToolUse", "PostToolUse", "SessionStart", "SessionStop", "PromptSubmit", "ResponseComplete",
		"Error", "Checkpoint", "ModelSwitch", "MemoryUpdate", "on_approval_request",
	} {
		if _, ok := PointNamed(name); !ok {
			t.Errorf("no point has the name %s", name)
		}
	}
	if p, ok := PointNamed("hook.executed"); ok {
		t.Errorf("hook.executed is the point %v", p)
	}
}

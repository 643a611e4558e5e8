package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// The strongest verdict counts, and patches reach the caller.
func ExampleDecisionPoint() {
	ctx := context.Background()
	r := hooks.NewRegistry(hooks.Options{})
	defer r.Close(ctx)
	hooks.ToolBefore.On(r, func(_ context.Context, _ hooks.Meta, call hooks.ToolCall) (*hooks.ToolDecision, error) {
		if call.Tool != "Bash" {
			return hooks.NoOpinion[hooks.ToolDecision](), nil
		}
		return hooks.ModifyTool(`{"command":"ls","timeout":60}`), nil
	})
	hooks.ToolBefore.On(r, func(context.Context, hooks.Meta, hooks.ToolCall) (*hooks.ToolDecision, error) {
		return hooks.AllowTool(), nil
	})

	out := hooks.ToolBefore.Dispatch(ctx, r, hooks.Meta{}, hooks.ToolCall{Tool: "Bash", Args: `{"command":"ls"}`})
	fmt.Println(out.Verdict, out.Input.Args)
	// Output: allow {"command":"ls","timeout":60}
}

func ExampleNewRegistry() {
	ctx := context.Background()
	r := hooks.NewRegistry(hooks.Options{})
	defer r.Close(ctx)
	hooks.ToolBefore.On(r, func(_ context.Context, _ hooks.Meta, call hooks.ToolCall) (*hooks.ToolDecision, error) {
		if command, _ := call.Args.Text("command"); strings.Contains(command, "--force") {
			return hooks.DenyTool("no force, please"), nil
		}
		return hooks.NoOpinion[hooks.ToolDecision](), nil
	}, hooks.Name("no-force"))

	out := hooks.ToolBefore.Dispatch(ctx, r, hooks.Meta{Run: "run-1"}, hooks.ToolCall{Tool: "Bash", Args: `{"command":"git push --force"}`})
	fmt.Println(out.Verdict, "because", out.Reason)
	// Output: deny because no force, please
}

// Hooks run by priority, then by registration. A deny ends the chain.
func Example_order() {
	ctx := context.Background()
	r := hooks.NewRegistry(hooks.Options{})
	defer r.Close(ctx)
	add := func(name string, verdict hooks.Verdict, opts ...hooks.Option) {
		hooks.ToolBefore.On(r, func(context.Context, hooks.Meta, hooks.ToolCall) (*hooks.ToolDecision, error) {
			return &hooks.ToolDecision{Verdict: verdict, Reason: name}, nil
		}, append(opts, hooks.Name(name))...)
	}
	add("third", hooks.Deny)
	add("never", hooks.Allow, hooks.Priority(1))
	add("first", hooks.Allow, hooks.Priority(-1))
	add("second", hooks.Ask, hooks.Priority(-1))

	out := hooks.ToolBefore.Dispatch(ctx, r, hooks.Meta{}, hooks.ToolCall{Tool: "Bash"})
	for _, x := range out.Executions {
		fmt.Println(x.Name, x.Verdict)
	}
	fmt.Println("decided by", out.Reason)
	// Output:
	// first allow
	// second ask
	// third deny
	// decided by third
}

// Each transform hook passes its value to the next. Unchanged keeps the value.
func ExampleTransformPoint() {
	ctx := context.Background()
	r := hooks.NewRegistry(hooks.Options{})
	defer r.Close(ctx)
	hooks.MessagesFilter.On(r, func(_ context.Context, _ hooks.Meta, _ hooks.NoSubject, all []hooks.Message) (*[]hooks.Message, error) {
		last := all[max(0, len(all)-2):]
		return &last, nil
	})
	hooks.MessagesFilter.On(r, func(_ context.Context, _ hooks.Meta, _ hooks.NoSubject, all []hooks.Message) (*[]hooks.Message, error) {
		all[0].Role = "nobody" // a copy, which is not returned
		return hooks.Unchanged[[]hooks.Message](), nil
	})

	out := hooks.MessagesFilter.Dispatch(ctx, r, hooks.Meta{}, hooks.NoSubject{}, []hooks.Message{{ID: "1", Role: "user"}, {ID: "2", Role: "assistant"}, {ID: "3", Role: "user"}})
	for _, m := range out.Value {
		fmt.Println(m.ID, m.Role)
	}
	// Output:
	// 2 assistant
	// 3 user
}

// A failing notification hook does not affect the others.
func ExampleNotificationPoint() {
	ctx := context.Background()
	r := hooks.NewRegistry(hooks.Options{})
	defer r.Close(ctx)
	hooks.RunFinished.On(r, func(context.Context, hooks.Meta, events.RunFinishedData) error {
		return fmt.Errorf("mail: %w", hooks.Fault("no connection"))
	}, hooks.Name("mailer"))
	hooks.RunFinished.On(r, func(_ context.Context, m hooks.Meta, run events.RunFinishedData) error {
		fmt.Println(m.Run, "succeeded:", run.Success)
		return nil
	})

	out := hooks.RunFinished.Dispatch(ctx, r, hooks.Meta{Run: "run-1"}, events.RunFinishedData{Success: true})
	for _, x := range out.Executions {
		fmt.Printf("%q %t %s\n", x.Name, x.Success, x.Error)
	}
	// Output:
	// run-1 succeeded: true
	// "mailer" false no connection
	// "" true
}

func ExampleRecoveryPoint() {
	ctx := context.Background()
	r := hooks.NewRegistry(hooks.Options{})
	defer r.Close(ctx)
	hooks.Error.On(r, func(_ context.Context, _ hooks.Meta, f hooks.Failure) (*hooks.Recovery, error) {
		if f.Type != hooks.ModelError {
			return hooks.NoOpinion[hooks.Recovery](), nil
		}
		return &hooks.Recovery{Retry: true, Fallback: "small-model"}, nil
	})

	out := hooks.Error.Dispatch(ctx, r, hooks.Meta{}, hooks.Failure{Err: errors.New("overloaded"), Type: hooks.ModelError, Model: "large-model"})
	fmt.Println(out.Recovery.Retry, out.Recovery.Fallback)
	// Output: true small-model
}

func ExampleForTool() {
	files, err := hooks.ForTool("mcp__files__*")
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, tool := range []string{"mcp__files__read", "Bash", ""} {
		fmt.Println(files.Match(hooks.Meta{}, hooks.Subject{Tool: tool}))
	}
	// Output:
	// true
	// false
	// false
}

func ExampleForAgent() {
	everyone, err := hooks.ForAgent("*")
	fmt.Println(everyone.Match(hooks.Meta{Agent: "analyst"}, hooks.Subject{}), err)
	_, err = hooks.ForAgent("")
	fmt.Println(err)
	// Output:
	// true <nil>
	// pattern: empty
}

func ExampleForRunType() {
	auto, err := hooks.ForRunType("autopilot")
	fmt.Println(auto.Match(hooks.Meta{RunType: "AUTOPILOT"}, hooks.Subject{}), err)
	// Output: true <nil>
}

func ExampleAll() {
	shell, err := hooks.ForTool("Bash")
	if err != nil {
		fmt.Println(err)
		return
	}
	coder, err := hooks.ForAgent("coder*")
	if err != nil {
		fmt.Println(err)
		return
	}
	both := hooks.All(shell, coder)
	fmt.Println(both.Match(hooks.Meta{Agent: "coder-2"}, hooks.Subject{Tool: "Bash"}))
	fmt.Println(both.Match(hooks.Meta{Agent: "planner"}, hooks.Subject{Tool: "Bash"}))
	// Output:
	// true
	// false
}

func ExampleMarshal() {
	args, err := hooks.Marshal(map[string]string{"command": "a < b"})
	fmt.Println(args, err)
	command, ok := args.Text("command")
	fmt.Println(command, ok)
	// Output:
	// {"command":"a < b"} <nil>
	// a < b true
}

func ExampleFromRaw() {
	raw := []byte(`{"n":1}`)
	doc := hooks.FromRaw(raw)
	raw[2] = 'm'
	fmt.Println(doc)
	// Output: {"n":1}
}

type greeter struct{}

func (greeter) Name() string { return "greeter" }

func (greeter) SessionStart(_ context.Context, m hooks.Meta, _ hooks.Session) (*hooks.SessionDecision, error) {
	return &hooks.SessionDecision{Context: "You work in " + m.TeamRoot + "."}, nil
}

func (greeter) SessionEnd(context.Context, hooks.Meta, events.SessionEndedData) error { return nil }

func ExampleRegistry_Use() {
	ctx := context.Background()
	r := hooks.NewRegistry(hooks.Options{})
	defer r.Close(ctx)
	if _, err := r.Use(greeter{}); err != nil {
		fmt.Println(err)
		return
	}
	for _, h := range r.List() {
		fmt.Println(h.Name, h.Point)
	}
	fmt.Println(hooks.SessionStart.Dispatch(ctx, r, hooks.Meta{TeamRoot: "/src"}, hooks.Session{}).Context)
	// Output:
	// greeter session.start
	// greeter session.ended
	// You work in /src.
}

// Untyped hooks serve other processes and languages.
func ExampleRegistry_OnDocument() {
	ctx := context.Background()
	r := hooks.NewRegistry(hooks.Options{})
	defer r.Close(ctx)
	_, err := r.OnDocument(events.PromptSubmit, func(_ context.Context, d hooks.Document) (*hooks.Reply, error) {
		fmt.Println("got", d.Payload)
		return &hooks.Reply{Verdict: hooks.Allow, Patch: `{"prompt":"please"}`}, nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := r.DispatchDocument(ctx, hooks.Document{Point: events.PromptSubmit, Payload: `{"prompt":"now!"}`})
	fmt.Println(out.Verdict, out.Value, err)
	// Output:
	// got {"prompt":"now!"}
	// allow {"prompt":"please"} <nil>
}

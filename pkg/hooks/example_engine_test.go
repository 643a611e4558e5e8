package hooks_test

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/hooks"
)

func Example() {
	ctx := context.Background()
	registry := hooks.NewRegistry(hooks.Options{}) // an Appender here records everything
	hooks.ToolBefore.On(registry, func(_ context.Context, _ hooks.Meta, call hooks.ToolCall) (*hooks.ToolDecision, error) {
		if command, _ := call.Args.Text("command"); strings.HasPrefix(command, "rm ") {
			return hooks.DenyTool("nothing is removed here"), nil
		}
		return hooks.NoOpinion[hooks.ToolDecision](), nil
	})

	engine := hooks.NewEngine(registry, hooks.Meta{Tenant: "acme"})
	shell := func(_ context.Context, call hooks.ToolCall) (hooks.JSON, error) { return `"done"`, nil }
	err := engine.Run(ctx, hooks.RunInfo{Agent: "coder"}, func(ctx context.Context) error {
		for _, args := range []hooks.JSON{`{"command":"ls"}`, `{"command":"rm -r src"}`} {
			out, err := engine.Tool(ctx, hooks.ToolCall{Tool: "Bash", Args: args}, shell)
			fmt.Println(out.Status, out.Result, out.Error, errors.Is(err, hooks.ErrDenied))
		}
		return nil
	})
	fmt.Println(err)
	// Output:
	// success "done"  false
	// error  nothing is removed here true
	// <nil>
}

func ExampleEngine_Step() {
	registry := hooks.NewRegistry(hooks.Options{})
	hooks.StepBefore.On(registry, func(_ context.Context, meta hooks.Meta, _ hooks.Step) (*hooks.StepDecision, error) {
		return hooks.ModifyStep(`{"style":"tabs"}`), nil
	})
	hooks.Error.On(registry, func(context.Context, hooks.Meta, hooks.Failure) (*hooks.Recovery, error) {
		return &hooks.Recovery{Retry: true, Fallback: "small"}, nil
	})
	engine := hooks.NewEngine(registry, hooks.Meta{})
	out, err := engine.Step(context.Background(), hooks.StepInfo{Agent: "coder", Model: "large", State: `{"goal":"fix"}`},
		func(_ context.Context, attempt hooks.Attempt) (hooks.JSON, error) {
			fmt.Println(attempt.Number, attempt.Model, attempt.State)
			if attempt.Model == "large" {
				return "", &hooks.TypedError{Type: hooks.ModelError, Err: errors.New("overloaded")}
			}
			return `{"fixed":true}`, nil
		})
	fmt.Println(out, err)
	// Output:
	// 1 large {"goal":"fix","style":"tabs"}
	// 2 small {"goal":"fix","style":"tabs"}
	// {"fixed":true} <nil>
}

func ExampleRegistry_Off() {
	registry := hooks.NewRegistry(hooks.Options{})
	anyAgent, err := hooks.ForAgent("*")
	if err != nil {
		fmt.Println(err)
		return
	}
	id := hooks.StepOutput.On(registry, func(_ context.Context, _ hooks.Meta, s hooks.StepState, out hooks.JSON) (*hooks.JSON, error) {
		fmt.Println(s.Agent, "said", out)
		return hooks.Unchanged[hooks.JSON](), nil
	}, hooks.Match(anyAgent), hooks.Name("log decisions"))
	engine := hooks.NewEngine(registry, hooks.Meta{Agent: "analyst"})
	speak := func(context.Context, hooks.Attempt) (hooks.JSON, error) { return `{"decisions":1}`, nil }
	for range 2 {
		if _, err := engine.Step(context.Background(), hooks.StepInfo{}, speak); err != nil {
			fmt.Println(err)
		}
		fmt.Println(registry.Off(id), len(registry.List()))
	}
	// Output:
	// analyst said {"decisions":1}
	// true 0
	// false 0
}

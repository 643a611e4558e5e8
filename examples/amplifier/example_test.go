// Package amplifier shows a hooks.yaml in the form of the enhanced hooks document. The commands
// accept such a file with --hooks, and `hooktrail hooks test` shows its decision about an event.
package amplifier_test

import (
	"context"
	"fmt"

	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/hookfile"
)

func Example() {
	file, err := hookfile.Load("hooks.yaml")
	if err != nil {
		fmt.Println(err)
		return
	}
	registry := hooks.NewRegistry(hooks.Options{})
	if err := file.Register(registry, hookfile.Options{}); err != nil {
		fmt.Println(err)
		return
	}
	engine := hooks.NewEngine(registry, hooks.Meta{Session: "abc123"})
	for _, call := range []hooks.ToolCall{
		{Tool: "Bash", Args: `{"command":"git status"}`},
		{Tool: "Bash", Args: `{"command":"rm -rf build/x"}`},
		{Tool: "Bash", Args: `{"command":"echo rm x"}`},
		{Tool: "Write", Args: `{"path":"a/b/.env.local"}`},
		{Tool: "Deploy", Args: `{"target":"production"}`},
	} {
		out, err := engine.Tool(context.Background(), call, func(_ context.Context, c hooks.ToolCall) (hooks.JSON, error) { return c.Args, nil })
		if err != nil {
			fmt.Println("blocked:", out.Error)
			continue
		}
		fmt.Println("ran with", out.Result)
	}
	// Output:
	// ran with {"command":"git status"}
	// blocked: Destructive rm commands require confirmation
	// ran with {"command":"echo rm x"}
	// blocked: Cannot modify environment files
	// ran with {"target": "staging"}
}

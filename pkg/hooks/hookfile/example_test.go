package hookfile_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/hookfile"
)

// A hooks.yaml denies a shell command before the tool runs.
func Example() {
	file, err := hookfile.Load("testdata/example_deny.yaml")
	if err != nil {
		fmt.Println(err)
		return
	}
	registry := hooks.NewRegistry(hooks.Options{})
	if err := file.Register(registry, hookfile.Options{}); err != nil {
		fmt.Println(err)
		return
	}
	engine := hooks.NewEngine(registry, hooks.Meta{})
	call := hooks.ToolCall{Tool: "Bash", Args: `{"command":"git push --force"}`}
	out, err := engine.Tool(context.Background(), call, func(context.Context, hooks.ToolCall) (hooks.JSON, error) {
		return `"pushed"`, nil
	})
	fmt.Println(errors.Is(err, hooks.ErrDenied), out.Error)
	// Output:
	// true ask a maintainer to push
}

// Parse reports all problems of a file at once, each with its line and column.
func ExampleParse() {
	_, err := hookfile.Parse("hooks.yaml", []byte("hooks:\n  PreToolUse:\n    - type: comand\n      timeout: 5\n"))
	if invalid, ok := errors.AsType[*hookfile.InvalidError](err); ok {
		for _, p := range invalid.Problems {
			fmt.Fprintln(os.Stdout, p)
		}
	}
	// Output:
	// hooks.yaml:3:13: PreToolUse[0].type: "comand" does not exist; did you mean "command"?
	// hooks.yaml:4:7: PreToolUse[0]: unknown key "timeout"; there are type, name, match, when, priority, last, timeout_ms, on_failure, async, enabled, command, action, message, model, prompt, max_tokens, cache, provider, base_url, url, key_env, subject
}

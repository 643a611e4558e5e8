package policy_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/policy"
)

func Example() {
	r := hooks.NewRegistry(hooks.Options{})
	set, err := policy.New(policy.Config{
		AllowedWritePaths: []string{"src/**"},
		Presets:           []string{policy.DestructiveCommands},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	if _, err := set.Register(r); err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	for _, call := range []hooks.ToolCall{
		{Tool: "Write", Args: `{"file_path":"src/main.go"}`},
		{Tool: "Write", Args: `{"file_path":"src/../../etc/passwd"}`},
		{Tool: "run_shell_command", Args: `{"command":"sudo bash -c 'git clean -fd'"}`},
		{Tool: "Bash", Args: `{"command":"echo 'git clean -fd'"}`},
	} {
		out := hooks.ToolBefore.Dispatch(ctx, r, hooks.Meta{}, call)
		fmt.Println(strings.TrimSpace(string(out.Verdict) + " " + out.Reason))
	}
	if err := r.Close(ctx); err != nil {
		fmt.Println(err)
	}
	// Output:
	// none
	// deny File write blocked: "src/../../etc/passwd" does not match allowed paths. Allowed patterns: src/**
	// deny Destructive command blocked: git clean -f removes files that git does not know.
	// none
}

func ExampleMatch() {
	m, err := policy.Match("Write", map[string]string{"path": "**/.env*"})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, args := range []hooks.JSON{`{"path":".env"}`, `{"file_path":"a/b/.env.local"}`, `{"path":"env.txt"}`} {
		fmt.Println(m.Match(hooks.Meta{}, hooks.Subject{Tool: "write_file", Args: args}))
	}
	// Output:
	// true
	// true
	// false
}

func ExampleNewReviewerLockout() {
	p, err := policy.NewReviewerLockout(policy.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	p.Lockout("src/auth.ts", "Backend")
	d, err := p.PreToolUse(context.Background(), hooks.Meta{Agent: "Backend"}, hooks.ToolCall{Tool: "Edit", Args: `{"file_path":"src/auth.ts"}`})
	fmt.Println(d.Reason, err)
	// Output: Reviewer lockout: Agent "Backend" is locked out of artifact "src/auth.ts". Another reviewer must handle this artifact. <nil>
}

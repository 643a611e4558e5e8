package policy_test

import (
	"testing"

	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/policy"
)

func BenchmarkPolicy(b *testing.B) {
	matcher := must(policy.Match("Bash", map[string]string{"command": "rm *"}))(b)
	shell := hooks.ToolCall{Tool: "Bash", Args: `{"command":"cd /repo && go test ./... 2>&1 | tail -20","description":"run the tests"}`}
	write := hooks.ToolCall{Tool: "Write", Args: `{"file_path":"/repo/src/a/b.go","content":"package b"}`}
	for _, bb := range []struct {
		name   string
		policy hooks.PreToolUser
		call   hooks.ToolCall
	}{
		{"BlockedCommands", must(policy.NewCommands(nil, strict))(b), shell},
		{"Destructive", must(policy.NewDestructive(strict))(b), shell},
		{"OtherTool", must(policy.NewDestructive(strict))(b), write},
		{"WritePaths", must(policy.NewWritePaths([]string{"docs/**", "src/**"}, strict))(b), write},
		{"All", must(policy.New(policy.Config{AllowedWritePaths: []string{"src/**"}, Presets: []string{policy.DestructiveCommands}}))(b), shell},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			meta := hooks.Meta{TeamRoot: "/repo"}
			for b.Loop() {
				if d, err := bb.policy.PreToolUse(b.Context(), meta, bb.call); d != nil || err != nil {
					b.Fatal(d, err)
				}
			}
		})
	}
	b.Run("Match", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if matcher.Match(hooks.Meta{}, hooks.Subject{Tool: shell.Tool, Args: shell.Args}) {
				b.Fatal("matches")
			}
		}
	})
}

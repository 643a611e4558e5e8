package policy_test

import (
	"encoding/json"
	"testing"

	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/policy"
)

// BenchmarkPolicy_RealCommands judges every command of real agents once per iteration.
func BenchmarkPolicy_RealCommands(b *testing.B) {
	var calls []hooks.ToolCall
	for _, row := range readLabelled(b, "real-agent-bash-commands.jsonl") {
		args, err := json.Marshal(map[string]string{"command": row.Command})
		if err != nil {
			b.Fatal(err)
		}
		calls = append(calls, hooks.ToolCall{Tool: "Bash", Args: hooks.JSON(args)})
	}
	for _, bb := range []struct {
		name   string
		policy hooks.PreToolUser
	}{
		{"Destructive", must(policy.NewDestructive(strict))(b)},
		{"Set", must(policy.New(policy.Config{AllowedWritePaths: []string{"**"}, Presets: []string{policy.DestructiveCommands}}))(b)},
	} {
		b.Run(bb.name, func(b *testing.B) {
			for b.Loop() {
				for _, call := range calls {
					if _, err := bb.policy.PreToolUse(b.Context(), hooks.Meta{TeamRoot: "/repo"}, call); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

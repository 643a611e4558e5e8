package policy_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/policy"
)

func bash(t *testing.T, command string) hooks.ToolCall {
	t.Helper()
	args, err := json.Marshal(map[string]string{"command": command})
	if err != nil {
		t.Fatal(err)
	}
	return hooks.ToolCall{Tool: "Bash", Args: hooks.JSON(args)}
}

// A command that takes too many steps to judge is denied by each policy, so it cannot outlast the
// wait of an agent.
//
//guarantee:long-command
func TestSet_LongCommand(t *testing.T) {
	policies := map[string]hooks.PreToolUser{
		"set":      must(policy.New(documented("/src/app")))(t),
		"commands": must(policy.NewCommands(nil, strict))(t),
		"paths":    must(policy.NewWritePaths([]string{"**"}, strict))(t),
		"none":     must(policy.NewDestructive(policy.Options{Undetermined: hooks.None}))(t),
	}
	for _, wrapper := range []string{"env ", "xargs ", "sudo ", "env -i nice ", "timeout 1 "} {
		for _, size := range []int{15_000, 120_000} {
			call := bash(t, strings.Repeat(wrapper, size/len(wrapper))+"rm -rf /opt/x")
			for name, p := range policies {
				d, err := p.PreToolUse(t.Context(), hooks.Meta{TeamRoot: "/src/app"}, call)
				if err != nil || d == nil || d.Verdict != hooks.Deny || !strings.Contains(d.Reason, "too long to judge") && size > 15_000 {
					t.Errorf("%s: %d bytes of %q: got %+v, %v", name, size, wrapper, d, err)
				}
			}
		}
	}
	asks := must(policy.NewAskUnlessSafe(strict))(t)
	d, err := asks.PreToolUse(t.Context(), hooks.Meta{}, bash(t, strings.Repeat("env ", 30_000)+"ls"))
	if err != nil || d == nil || d.Verdict != hooks.Ask || !strings.Contains(d.Reason, "too long to judge") {
		t.Errorf("ask-unless-safe: got %+v, %v", d, err)
	}
}

// Ordinary long commands are not too long.
func TestSet_LongOrdinaryCommand(t *testing.T) {
	set := must(policy.New(documented("/src/app")))(t)
	for name, command := range map[string]string{
		"file":  "cat > src/a.go <<'EOF'\n" + strings.Repeat("x := f(a, b) // comment\n", 2_500) + "EOF",
		"files": "git add" + strings.Repeat(" src/some/file.go", 3_500),
		"list":  strings.Repeat("test -f src/a && ls -la src/b; ", 500),
		"env":   "env A=1 nice -n 5 timeout 10 go test" + strings.Repeat(" ./pkg/a", 5_000),
	} {
		if d, err := set.PreToolUse(t.Context(), hooks.Meta{TeamRoot: "/src/app"}, bash(t, command)); err != nil || d != nil {
			t.Errorf("%s: got %+v, %v", name, d, err)
		}
	}
}

//guarantee:long-command
func TestSet_LongList(t *testing.T) {
	set := must(policy.New(documented("/src/app")))(t)
	for _, n := range []int{4_000, 30_000} {
		args := hooks.JSON(`{"paths":[` + strings.Repeat(`"a/b/../c",`, n) + `".env"]}`)
		d, err := set.PreToolUse(t.Context(), hooks.Meta{TeamRoot: "/src/app"}, hooks.ToolCall{Tool: "read_many_files", Args: args})
		if err != nil || d == nil || d.Verdict != hooks.Deny || strings.Contains(d.Reason, "too long to judge") != (n == 30_000) {
			t.Errorf("%d paths: got %+v, %v", n, d, err)
		}
	}
}

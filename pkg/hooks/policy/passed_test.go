package policy_test

import (
	"encoding/json"
	"testing"

	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/policy"
)

// The documented configuration denies or asks about ways around its own rules.
//
//guarantee:policy-ways-around
func TestPolicies_WaysAround(t *testing.T) {
	set := must(policy.New(documented("/src/app")))(t)
	judge := func(tool, args string, passes bool) {
		t.Helper()
		d, err := set.PreToolUse(t.Context(), hooks.Meta{TeamRoot: "/src/app"}, hooks.ToolCall{Tool: tool, Args: hooks.JSON(args)})
		if err != nil || (d == nil) != passes {
			t.Errorf("%s %s: got %+v, %v", tool, args, d, err)
		}
	}
	for command, passes := range map[string]bool{
		`rm -f .claude/settings.json`:           false,
		`rm -rf .claude`:                        false,
		`rm .gemini/settings.json`:              false,
		`rm /src/app/.codex/hooks.json`:         false,
		`git rm --cached .claude/settings.json`: false,
		`cat > .github/hooks/x.json <<< {}`:     false,
		`cat > opencode.json <<< {}`:            false,
		`cat > .opencode/plugin/x.js <<< x`:     false,
		`rm -r .opencode`:                       false,
		`killall -9 publisher`:                  false,
		`find . -name '.env*' -exec cat {} \;`:  false,
		`ln -s .env x && cat x`:                 false,
		`rm -rf .claude/worktrees/a`:            true,
		`rm .github/workflows/x.yml`:            true,
		`killall node`:                          true,
		`find . -name '*.go' -exec cat {} \;`:   true,
		`find . -name '.env*' -exec ls {} \;`:   true,
		`ln -s ../app/.env .env`:                true,

		// docs/hooks-policies.md lists these calls as not covered.
		`perl -e 'exec qw(git reset --hard)'`:                                                 true,
		`GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=alias.x GIT_CONFIG_VALUE_0='reset --hard' git x`: true,
	} {
		args, err := json.Marshal(map[string]string{"command": command})
		if err != nil {
			t.Fatal(err)
		}
		judge("Bash", string(args), passes)
	}
	judge("read_many_files", `{"include":[".env*"]}`, false)
	judge("read_many_files", `{"include":["src/*.go"]}`, true)
	judge("Grep", `{"pattern":".","glob":".env*","output_mode":"content"}`, false)
	judge("Grep", `{"pattern":".","glob":"*.ts"}`, true)
	judge("mcp__x__execute", `{"code":"git reset --hard"}`, true) // listed there too
	judge("mcp__x__run", `{"cmdline":"git reset --hard"}`, false)
	judge("Bash", `{"command":"git reset --hard","command":"ls"}`, false)
	judge("Write", `{"file_path":"/etc/passwd","file_path":"src/a"}`, false)
	judge("Write", `{"file_path":"src/a","content":"{\"a\":1,\"a\":2}"}`, true)
}

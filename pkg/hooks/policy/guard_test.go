package policy_test

import (
	"testing"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/policy"
)

func verdictOfTool(t *testing.T, c policy.Config, tool, args string) events.Verdict {
	t.Helper()
	set := must(policy.New(c))(t)
	d, err := set.PreToolUse(t.Context(), hooks.Meta{TeamRoot: "/src/app"}, hooks.ToolCall{Tool: tool, Args: hooks.JSON(args)})
	if err != nil {
		t.Fatal(err)
	}
	if d == nil {
		return hooks.None
	}
	return d.Verdict
}

func TestPolicies_OwnToolNames(t *testing.T) {
	c := policy.Config{
		AllowedWritePaths: []string{"src/**"}, Presets: []string{policy.DestructiveCommands, policy.SecretFiles},
		ShellTools: []string{"do_it"}, WriteTools: []string{"store"},
	}
	for _, tt := range []struct {
		tool, args string
		want       events.Verdict
	}{
		{"execute_shell_command", `{"command":"git clean -fd"}`, hooks.Deny},
		{"mcp__box__runInSandboxShell", `{"cmd":"git clean -fd"}`, hooks.Deny},
		{"do_it", `{"command":"git clean -fd"}`, hooks.Deny},
		{"mcp__x__do_it", `{"command":"git clean -fd"}`, hooks.Deny},
		{"describe", `{"command":"git clean -fd"}`, hooks.None},
		{"create_or_update_file", `{"path":"etc/x","content":"y"}`, hooks.Deny},
		{"create_or_update_file", `{"path":"src/x","content":"y"}`, hooks.None},
		{"store", `{"path":"etc/x"}`, hooks.Deny},
		{"create_issue", `{"title":"x","body":"y"}`, hooks.None},
		{"get_file_contents", `{"path":".env"}`, hooks.Deny},
		{"get_file_contents", `{"path":".env.example"}`, hooks.None},
	} {
		if got := verdictOfTool(t, c, tt.tool, tt.args); got != tt.want {
			t.Errorf("%s %s: got %s, want %s", tt.tool, tt.args, got, tt.want)
		}
	}
}

func TestWritePaths_ShellCommands(t *testing.T) {
	p := must(policy.New(policy.Config{AllowedWritePaths: []string{"src/**"}, BlockedCommands: []string{}}))(t)
	for command, want := range map[string]events.Verdict{
		"echo x > src/a": hooks.None, "echo x > /src/app/src/a": hooks.None, "echo x > docs/a": hooks.Deny, "echo x >> ~/.bashrc": hooks.Deny,
		"echo x | tee docs/a": hooks.Deny, "echo x | tee src/a >/dev/null 2>&1": hooks.None, "sed -i s/a/b/ docs/x": hooks.Deny, "sed s/a/b/ docs/x": hooks.None,
		"cp docs/a src/a": hooks.None, "cp src/a docs/a": hooks.Deny, "cp -t docs src/a": hooks.Deny, "mv docs/a src/a": hooks.Deny, "install -m 755 a /usr/local/bin/a": hooks.Deny,
		"ln -s ~/.bashrc src/n": hooks.None, "ln -s ~/.bashrc src/n && echo x >> src/n": hooks.Deny, "ln -s / src/r; echo x > src/r/etc/x": hooks.Deny,
		"echo x > \"$F\"": hooks.Ask, "F=docs/a; echo x > $F": hooks.Deny, "echo x > /tmp/a": hooks.None, "cd docs && echo x > a": hooks.Deny,
		"rm -rf build": hooks.None, "rm /etc/x": hooks.Deny, "curl -o docs/a u": hooks.Deny, "python3 -c \"open('docs/a','w').write('x')\"": hooks.Deny,
	} {
		if got := verdictIn(t, p, "/src/app", command); got != want {
			t.Errorf("%s: got %s, want %s", command, got, want)
		}
	}
}

func TestAskUnlessSafe(t *testing.T) {
	p := must(policy.New(policy.Config{BlockedCommands: []string{}, Presets: []string{policy.AskUnlessSafe}}))(t)
	for _, command := range []string{
		"ls -la", "git status && git diff --stat", "rg -n x src | head -5", "find . -name '*.go' | xargs grep -l x", "cat a > /tmp/x", "cd src; pwd", "for f in *; do wc -l $f; done",
		"sed -n 1,20p f", "gh pr view 3", "timeout 5 ls",
	} {
		if got := verdictIn(t, p, "/src/app", command); got != hooks.None {
			t.Errorf("%s: got %s, want none", command, got)
		}
	}
	for _, command := range []string{
		"make", "npm test", "echo x > a", "git commit -m x", "git log --output=x", "git -c core.pager=x log", "find . -delete", "find . -exec touch {} +", "$X", "eval ls", "sed -i s/a/b/ f",
		"sed -n 's/a/b/w f' g", "sort -o a b", "./ls", "PATH=. ls", "LD_PRELOAD=x ls", "ls; make", "ls $(make)", "rg --pre ./x y", "python3 x.py", "python3 -c 'print(1)'", "ls | sh",
	} {
		if got := verdictIn(t, p, "/src/app", command); got != hooks.Ask {
			t.Errorf("%s: got %s, want ask", command, got)
		}
	}
	if _, err := policy.New(policy.Config{Undetermined: hooks.None, Presets: []string{policy.AskUnlessSafe}}); err == nil {
		t.Error("the preset is accepted although it could never ask")
	}
}

func verdictIn(t *testing.T, p hooks.PreToolUser, root, command string) events.Verdict {
	t.Helper()
	c := labelledCall{Command: command, Tool: "Bash"}
	d, err := p.PreToolUse(t.Context(), hooks.Meta{TeamRoot: root}, c.call(t))
	if err != nil {
		t.Fatal(err)
	}
	if d == nil {
		return hooks.None
	}
	return d.Verdict
}

package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/policy"
)

var (
	strict = policy.Options{}
	compat = policy.Options{Mode: policy.Compat}
)

// asked is a call and the expected reason of a denial, or "".
type asked struct {
	meta hooks.Meta
	tool string
	args hooks.JSON
	want string // reason of a denial
}

func ask(t *testing.T, p hooks.PreToolUser, tests []asked) {
	t.Helper()
	for _, tt := range tests {
		d, err := p.PreToolUse(t.Context(), tt.meta, hooks.ToolCall{Tool: tt.tool, Args: tt.args})
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case d == nil && tt.want == "":
		case d == nil:
			t.Errorf("%s %s: got no opinion, want %q", tt.tool, tt.args, tt.want)
		case d.Verdict != hooks.Deny || d.Reason != tt.want:
			t.Errorf("%s %s: got %s %q, want %q", tt.tool, tt.args, d.Verdict, d.Reason, tt.want)
		}
	}
}

func must[P any](p P, err error) func(testing.TB) P {
	return func(tb testing.TB) P {
		tb.Helper()
		if err != nil {
			tb.Fatal(err)
		}
		return p
	}
}

func writeBlocked(path string) string {
	return `File write blocked: "` + path + `" does not match allowed paths. Allowed patterns: src/**, docs/*.md`
}

func TestWritePaths_Compat(t *testing.T) {
	p := must(policy.NewWritePaths([]string{"src/**", "docs/*.md"}, compat))(t)
	ask(t, p, []asked{
		{tool: "edit", args: `{"path":"src/a/b.go"}`},
		{tool: "write_file", args: `{"file_path":"docs/a.md"}`},
		{tool: "create", args: `{"path":"docs/a/b.md"}`, want: writeBlocked("docs/a/b.md")},
		{tool: "create_file", args: `{"path":"/etc/passwd"}`, want: writeBlocked("/etc/passwd")},
		{tool: "edit", args: `{"path":"","file_path":"x"}`, want: writeBlocked("x")},
		{tool: "edit", args: `{"path":7,"file_path":"x"}`},
		{tool: "edit", args: `{}`},
		{tool: "edit", args: `{"path":"src/../../etc/passwd"}`}, // strict denies this
		{tool: "edit", args: `{"path":"src\\a.go"}`},
		{tool: "Write", args: `{"path":"x"}`},
		{tool: "bash", args: `{"path":"x"}`},
	})
	ask(t, must(policy.NewWritePaths(nil, compat))(t), []asked{{tool: "edit", args: `{"path":"x"}`}})
}

func TestWritePaths_Strict(t *testing.T) {
	p := must(policy.NewWritePaths([]string{"src/**", "docs/*.md"}, strict))(t)
	patch := `"*** Begin Patch\n*** Update File: src/a.go\n--- x\n*** Move to: /etc/x\n*** End Patch"`
	ask(t, p, []asked{
		{tool: "Write", args: `{"file_path":"src/a/b.go","content":"x"}`},
		{tool: "Edit", args: `{"file_path":"./src/../docs/a.md"}`},
		{tool: "write", args: `{"filePath":"docs/a/b.md"}`, want: writeBlocked("docs/a/b.md")},
		{tool: "replace", args: `{"file_path":"src/../../etc/passwd"}`, want: writeBlocked("src/../../etc/passwd")},
		{tool: "edit", args: `{"path":"../src/a.go"}`, want: writeBlocked("../src/a.go")},
		{tool: "edit", args: `{"path":"src\\..\\..\\x"}`, want: writeBlocked(`src\..\..\x`)},
		{tool: "edit", args: `{"path":"~/src/a.go"}`, want: writeBlocked("~/src/a.go")},
		{tool: "edit", args: `{"path":"/repo/src/a.go"}`, want: writeBlocked("/repo/src/a.go")},
		{tool: "edit", args: `{"path":"/repo/src/a.go"}`, meta: hooks.Meta{TeamRoot: "/repo"}},
		{tool: "edit", args: `{"path":"/repository/src/a.go"}`, meta: hooks.Meta{TeamRoot: "/repo"}, want: writeBlocked("/repository/src/a.go")},
		{tool: "NotebookEdit", args: `{"notebook_path":"x.ipynb"}`, want: writeBlocked("x.ipynb")},
		{tool: "MultiEdit", args: `{"edits":[{"file_path":"src/a"},{"file_path":"b"}]}`, want: writeBlocked("b")},
		{tool: "edit", args: `{"path":"src/a.go","file_path":"b"}`, want: writeBlocked("b")},
		{tool: "mcp__files__write_file", args: `{"path":"b"}`, want: writeBlocked("b")},
		{tool: "Write", args: `{}`, want: writeBlocked("unknown")},
		{tool: "Write", args: `no json`, want: writeBlocked("unknown")},
		{tool: "apply_patch", args: `{"input":` + hooks.JSON(patch) + `}`, want: writeBlocked("/etc/x")},
		{tool: "Bash", args: `{"command":["apply_patch",` + hooks.JSON(patch) + `]}`, want: writeBlocked("/etc/x")},
		{tool: "Bash", args: `{"command":"apply_patch <<'E'\n*** Begin Patch\n*** Add File: b\n+x\n*** End Patch\nE"}`, want: writeBlocked("b")},
		{tool: "patch", args: `{"diff":"--- a/src/a\n+++ b/src/b\n@@\n"}`},
		{tool: "patch", args: `{"diff":"--- /dev/null\n+++ b/c\n@@\n"}`, want: writeBlocked("c")},
		{tool: "str_replace_editor", args: `{"command":"view","path":"b"}`},
		{tool: "Write", args: `{"command":"view","path":"b"}`, want: writeBlocked("b")},
		{tool: "Read", args: `{"path":"b"}`},
		{tool: "Bash", args: `{"command":"echo '*** Add File: b'"}`},
	})
	all := must(policy.NewWritePaths([]string{"**", "/var/log/*.log", "../shared/**"}, policy.Options{Root: "/repo"}))(t)
	blocked := func(path string) string {
		return `File write blocked: "` + path + `" does not match allowed paths. Allowed patterns: **, /var/log/*.log, ../shared/**`
	}
	ask(t, all, []asked{
		{tool: "Write", args: `{"path":"a/b"}`},
		{tool: "Write", args: `{"path":"/repo/a"}`},
		{tool: "Write", args: `{"path":"/var/log/x.log"}`},
		{tool: "Write", args: `{"path":"../shared/x"}`},
		{tool: "Write", args: `{"path":"../x"}`, want: blocked("../x")},
		{tool: "Write", args: `{"path":"/etc/x"}`, want: blocked("/etc/x")},
	})
	none := must(policy.NewWritePaths([]string{}, strict))(t)
	ask(t, none, []asked{{tool: "Write", args: `{"path":"x"}`, want: `File write blocked: "x" does not match allowed paths. Allowed patterns: `}})
}

func commandBlocked(pattern string) string {
	return `Shell command blocked: Command contains prohibited pattern "` + pattern +
		`". Blocked commands: rm -rf, git push --force, git rebase, git reset --hard`
}

func TestCommands_Compat(t *testing.T) {
	ask(t, must(policy.NewCommands(nil, compat))(t), []asked{
		{tool: "bash", args: `{"command":"rm -rf x"}`, want: commandBlocked("rm -rf")},
		{tool: "shell", args: `{"cmd":"git push --force"}`, want: commandBlocked("git push --force")},
		{tool: "exec", args: `{"command":"git rebase main"}`, want: commandBlocked("git rebase")},
		{tool: "powershell", args: `{"command":"git reset --hard"}`, want: commandBlocked("git reset --hard")},
		{tool: "bash", args: `{"command":"echo 'rm -rf'"}`, want: commandBlocked("rm -rf")},
		{tool: "bash", args: `{"command":"git push --force-with-lease"}`, want: commandBlocked("git push --force")},
		{tool: "bash", args: `{"command":"rm -fr x"}`},
		{tool: "bash", args: `{"command":"rm  -rf x"}`},
		{tool: "bash", args: `{"command":"git push -f"}`},
		{tool: "Bash", args: `{"command":"rm -rf x"}`},
		{tool: "bash", args: `{"command":["rm -rf x"]}`},
		{tool: "bash", args: `{}`},
	})
	ask(t, must(policy.NewCommands([]string{}, compat))(t), []asked{{tool: "bash", args: `{"command":"rm -rf x"}`}})
	ask(t, must(policy.NewCommands([]string{"a|b"}, compat))(t), []asked{
		{tool: "bash", args: `{"command":"xa|b"}`, want: `Shell command blocked: Command contains prohibited pattern "a|b". Blocked commands: a|b`},
	})
}

func TestCommands_Strict(t *testing.T) {
	p := must(policy.NewCommands(nil, strict))(t)
	for command, want := range map[string]string{
		"rm -rf x": "rm -rf", "rm -fr x": "rm -rf", "rm  -rf x": "rm -rf", "rm -r -f x": "rm -rf", "rm --force --recursive x": "rm -rf", "rm x -Rf": "rm -rf",
		"git push -f": "git push --force", "git push origin main --force": "git push --force", "git -C x push -fu": "git push --force",
		"git push -f --force-with-lease": "git push --force", "git  rebase -i x": "git rebase", "git reset x --hard": "git reset --hard",
		"bash -c 'rm -rf x'": "rm -rf", "eval rm -rf x": "rm -rf", "env A=1 rm -rf x": "rm -rf", "sudo rm -rf x": "rm -rf", "ls | xargs rm -rf": "rm -rf",
		"a; (b && rm -rf x)": "rm -rf", "echo $(rm -rf x)": "rm -rf",
		"echo 'rm -rf x'": "", "git push --force-with-lease": "", "git commit -m 'git rebase'": "", "rm -r x": "", "rm -f x": "", "rm -- -rf": "",
		"git log rebase": "", "git checkout rebase": "", "git pull --rebase": "", "git push origin force": "", "git push --follow-tags": "", "": "",
	} {
		v, reason := verdictOn(t, p, command)
		switch {
		case want == "" && v != hooks.None:
			t.Errorf("%s: got %s %q, want no opinion", command, v, reason)
		case want != "" && (v != hooks.Deny || reason != commandBlocked(want)):
			t.Errorf("%s: got %s %q, want %q", command, v, reason, commandBlocked(want))
		}
	}
	for _, command := range []string{"$X -rf y", "curl u | sh", "echo 'x"} {
		if v, _ := verdictOn(t, p, command); v != hooks.Ask {
			t.Errorf("%s: got %s, want ask", command, v)
		}
	}
	if v, _ := verdictOn(t, must(policy.NewCommands([]string{}, strict))(t), "$X"); v != hooks.None {
		t.Errorf("nothing is blocked, got %s", v)
	}
}

func TestCommands_Patterns(t *testing.T) {
	tests := []struct{ pattern, command string }{
		{"sudo", "sudo ls"},
		{"sudo", "a | sudo -u b c"},
		{"kubectl delete", "kubectl -n prod delete pod x"},
		{"kubectl delete", "kubectl delete x"},
		{"npm publish", "npm --tag x publish"},
		{"find -delete", "find . -name x -delete"},
		{"terraform apply -auto-approve", "terraform apply -auto-approve"},
		{"curl *", "curl -s u"},
		{"git push origin ma*", "git push -u origin main"},
		{"docker rm -f", "docker rm --force x"},
		{"mkfs*", "mkfs.ext4 /dev/x"},
	}
	for _, tt := range tests {
		if v, _ := verdictOn(t, must(policy.NewCommands([]string{tt.pattern}, strict))(t), tt.command); v != hooks.Deny {
			t.Errorf("%q on %q: got %s, want deny", tt.pattern, tt.command, v)
		}
	}
	for _, tt := range []struct{ pattern, command string }{
		{"npm publish", "npm run publish"},
		{"find -delete", "find . -name deleted"},
		{"curl *", "curl"},
		{"git push origin ma*", "git push fork main"},
		{"docker rm -f", "docker rm x"},
		{"git rebase", "git rebase-todo"},
	} {
		if v, _ := verdictOn(t, must(policy.NewCommands([]string{tt.pattern}, strict))(t), tt.command); v != hooks.None {
			t.Errorf("%q on %q: got %s, want no opinion", tt.pattern, tt.command, v)
		}
	}
	for _, bad := range []string{"", "a; b", "a | b", "a > b", "$X", "'a", "[a-"} {
		if _, err := policy.NewCommands([]string{"ls", bad}, strict); err == nil || !strings.Contains(err.Error(), "blockedCommands[1]") {
			t.Errorf("%q: got %v, want an error that names it", bad, err)
		}
	}
}

func TestAskLimit(t *testing.T) {
	exceeded := func(used, limit int) string {
		return fmt.Sprintf("ask_user rate limit exceeded: %d/%d calls used for this session. The agent should proceed without user input.", used, limit)
	}
	one, two := hooks.Meta{Tenant: "t", Session: "1"}, hooks.Meta{Tenant: "u", Session: "1"}
	p := must(policy.NewAskLimit(2, strict))(t)
	ask(t, p, []asked{
		{meta: one, tool: "ask_user"},
		{meta: one, tool: "Bash"},
		{meta: one, tool: "AskUserQuestion"},
		{meta: one, tool: "ask_user", want: exceeded(2, 2)},
		{meta: one, tool: "question", want: exceeded(2, 2)},
		{meta: two, tool: "ask_user"},
	})
	if err := p.SessionEnd(t.Context(), one, events.SessionEndedData{}); err != nil {
		t.Fatal(err)
	}
	ask(t, p, []asked{{meta: one, tool: "ask_user"}})
	ask(t, must(policy.NewAskLimit(0, strict))(t), []asked{{tool: "ask_user", want: exceeded(0, 0)}})
	ask(t, must(policy.NewAskLimit(0, compat))(t), []asked{{tool: "ask_user"}})
	ask(t, must(policy.NewAskLimit(1, compat))(t), []asked{
		{meta: one, tool: "AskUserQuestion"}, {meta: one, tool: "ask_user"}, {meta: two, tool: "ask_user", want: exceeded(1, 1)},
	})
	if _, err := policy.NewAskLimit(-1, strict); err == nil {
		t.Error("a negative limit is taken")
	}
}

func TestOptions(t *testing.T) {
	for _, bad := range []policy.Options{{Mode: "loose"}, {Root: "repo"}, {Undetermined: "maybe"}, {Undetermined: hooks.Allow}} {
		if _, err := policy.NewCommands(nil, bad); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
	if _, err := policy.NewWritePaths([]string{"a[", "b"}, strict); err == nil || !strings.Contains(err.Error(), "allowedWritePaths[0]") {
		t.Errorf("got %v, want an error that names the pattern", err)
	}
	if _, err := policy.NewPreset("harmless", strict); err == nil {
		t.Error("an unknown preset is taken")
	}
}

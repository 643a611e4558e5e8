package policy_test

import (
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/policy"
)

func TestForTool(t *testing.T) {
	tests := []struct {
		pattern        string
		matches, fails []string
	}{
		{"Bash", []string{"Bash", "bash", "run_shell_command", "shell", "exec_command", "local_shell", "PowerShell"}, []string{"", "Write", "BashOutput"}},
		{"run_shell_command", []string{"Bash", "shell"}, []string{"Edit"}},
		{"Edit", []string{"Edit", "replace", "apply_patch", "str_replace_editor", "MultiEdit"}, []string{"Write", "Read"}},
		{"Write", []string{"Write", "write_file", "create", "mcp__fs__write_file"}, []string{"Edit", "TodoWrite"}},
		{"Task", []string{"Task", "Agent", "invoke_agent"}, []string{"TaskUpdate"}},
		{"*", []string{"Bash", "anything"}, []string{""}},
		{"mcp__*", []string{"mcp__a__b"}, []string{"Bash"}},
		{"Web*", []string{"WebFetch", "web_fetch", "google_web_search"}, []string{"Bash"}},
		{"*Edit", []string{"Edit", "NotebookEdit", "replace"}, []string{"Bash"}},
		{"own.tool", []string{"own.tool"}, []string{"ownXtool", "own"}},
	}
	for _, tt := range tests {
		m := must(policy.ForTool(tt.pattern))(t)
		for _, tool := range tt.matches {
			if !m.Match(hooks.Meta{}, hooks.Subject{Tool: tool}) {
				t.Errorf("%q does not match %q", tt.pattern, tool)
			}
		}
		for _, tool := range tt.fails {
			if m.Match(hooks.Meta{}, hooks.Subject{Tool: tool}) {
				t.Errorf("%q matches %q", tt.pattern, tool)
			}
		}
	}
}

func TestForArg(t *testing.T) {
	tests := []struct {
		key, pattern   string
		matches, fails []hooks.JSON
	}{
		{
			"command", "rm *",
			[]hooks.JSON{`{"command":"rm -rf build/x"}`, `{"command":"rm a\nb"}`, `{"cmd":"rm x"}`, `{"command":"ls","command":"rm x"}`},
			[]hooks.JSON{`{"command":"echo rm x"}`, `{"command":"rm"}`, `{"command":7}`, `{"command":["rm x"]}`, `{}`, `[]`, ``, `{"x":"rm y"}`},
		},
		{
			"path", "**/.env*",
			[]hooks.JSON{`{"path":".env"}`, `{"path":"a/b/.env.local"}`, `{"path":"./.env"}`, `{"path":"/r/.env"}`, `{"file_path":"a/../.env"}`, `{"filePath":"a\\.env"}`},
			[]hooks.JSON{`{"path":"env.txt"}`, `{"path":".env/x"}`, `{"path":"a.env"}`, `{"path":true}`, `{}`},
		},
		{"path", "src/*.go", []hooks.JSON{`{"path":"src/a.go"}`, `{"path":"/repo/src/a.go"}`}, []hooks.JSON{`{"path":"src/a/b.go"}`, `{"path":"/x/src/a.go"}`}},
		{"query", "**/x", []hooks.JSON{`{"query":"a/b/x"}`}, []hooks.JSON{`{"query":"a/b/y"}`}},
		{"url", "https://*.example.com/*", []hooks.JSON{`{"url":"https://a.example.com/b/c"}`}, []hooks.JSON{`{"url":"https://example.org/"}`}},
		{"name", "exact", []hooks.JSON{`{"name":"exact"}`}, []hooks.JSON{`{"name":"exactly"}`, `{"Name":"exact"}`}},
		{"name", "a?[bc]", []hooks.JSON{`{"name":"axb"}`}, []hooks.JSON{`{"name":"ab"}`}},
	}
	meta := hooks.Meta{TeamRoot: "/repo"}
	for _, tt := range tests {
		m := must(policy.ForArg(tt.key, tt.pattern))(t)
		for _, args := range tt.matches {
			if !m.Match(meta, hooks.Subject{Tool: "x", Args: args}) {
				t.Errorf("%s %q does not match %s", tt.key, tt.pattern, args)
			}
		}
		for _, args := range tt.fails {
			if m.Match(meta, hooks.Subject{Tool: "x", Args: args}) {
				t.Errorf("%s %q matches %s", tt.key, tt.pattern, args)
			}
		}
	}
}

// The argument path also stands for the files of a patch.
func TestForArg_Patch(t *testing.T) {
	m := must(policy.ForArg("path", "**/.env*"))(t)
	meta := hooks.Meta{TeamRoot: "/src/app"}
	for file, want := range map[string]bool{".env": true, "a/b/.env.local": true, "/src/app/.env": true, "env.go": false} {
		patch := "*** Begin Patch\n*** Add File: README.md\n+see .env\n*** Update File: " + file + "\n+A=1\n*** End Patch"
		for _, args := range []map[string]string{{"input": patch}, {"command": patch}} {
			text, err := hooks.Marshal(args)
			if err != nil {
				t.Fatal(err)
			}
			if got := m.Match(meta, hooks.Subject{Tool: "apply_patch", Args: text}); got != want {
				t.Errorf("%s: got %t, want %t", text, got, want)
			}
		}
	}
	if m.Match(meta, hooks.Subject{Tool: "Bash", Args: `{"command":"echo '*** Add File: .env'"}`}) {
		t.Error("a command that only prints a patch matches")
	}
}

func TestMatch(t *testing.T) {
	m := must(policy.Match("Bash", map[string]string{"command": "rm *", "description": "*"}))(t)
	if !m.Match(hooks.Meta{}, hooks.Subject{Tool: "shell", Args: `{"command":"rm x","description":""}`}) {
		t.Error("all patterns match, the matcher does not")
	}
	for _, s := range []hooks.Subject{
		{Tool: "Write", Args: `{"command":"rm x","description":""}`},
		{Tool: "shell", Args: `{"command":"ls","description":""}`},
		{Tool: "shell", Args: `{"command":"rm x"}`},
	} {
		if m.Match(hooks.Meta{}, s) {
			t.Errorf("%s %s matches", s.Tool, s.Args)
		}
	}
	_, err := policy.Match("[a-", map[string]string{"command": "[z", "path": "a[", "": "x"})
	for _, part := range []string{`"[a-"`, `"[z"`, `"a["`, "no name"} {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("got %v, want all errors, %s among them", err, part)
		}
	}
}

func FuzzForArg(f *testing.F) {
	f.Add("rm *", "rm -rf x")
	f.Add("**/.env*", "a/b/.env")
	f.Add("[a-z]?", "ab")
	f.Fuzz(func(t *testing.T, pattern, value string) {
		args, err := hooks.Marshal(map[string]string{"value": value})
		if err != nil {
			return
		}
		subject := hooks.Subject{Tool: "x", Args: args}
		m, err := policy.ForArg("value", pattern)
		if err != nil {
			return
		}
		got := m.Match(hooks.Meta{}, subject)
		if got != m.Match(hooks.Meta{}, subject) {
			t.Fatal("not the same again")
		}
		if plain := !strings.ContainsAny(pattern, `*?[\`); plain && got != (strings.ToValidUTF8(value, "\ufffd") == pattern) && strings.ToValidUTF8(pattern, "") == pattern {
			t.Fatalf("%q on %q: got %v", pattern, value, got)
		}
		all, err := policy.ForArg("value", "*")
		if err != nil || !all.Match(hooks.Meta{}, subject) {
			t.Fatalf("* does not match %q: %v", value, err)
		}
	})
}

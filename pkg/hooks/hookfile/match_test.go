package hookfile

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/pkg/hooks"
)

func TestMatcher(t *testing.T) {
	tests := []struct {
		name, hook, tool, args string
		more                   string // fields of the document
		want                   hooks.Verdict
	}{
		{"Command", `match: {tool: "Bash", args: {command: "rm *"}}`, "Bash", `{"command":"rm -rf build/x"}`, "", hooks.Deny},
		{"NotTheCommand", `match: {tool: "Bash", args: {command: "rm *"}}`, "Bash", `{"command":"echo rm x"}`, "", hooks.None},
		{"EveryShell", `match: {tool: "Bash", args: {command: "rm *"}}`, "run_shell_command", `{"command":"rm x"}`, "", hooks.Deny},
		{"OtherTool", `match: {tool: "Bash", args: {command: "rm *"}}`, "Read", `{"command":"rm x"}`, "", hooks.None},
		{"Env", `match: {tool: "Write", args: {path: "**/.env*"}}`, "Write", `{"path":".env"}`, "", hooks.Deny},
		{"DeepEnv", `match: {tool: "Write", args: {path: "**/.env*"}}`, "Write", `{"path":"a/b/.env.local"}`, "", hooks.Deny},
		{"NoEnv", `match: {tool: "Write", args: {path: "**/.env*"}}`, "Write", `{"path":"env.txt"}`, "", hooks.None},
		{"Missing", `match: {args: {command: "*"}}`, "Bash", `{}`, "", hooks.None},
		{"NoText", `match: {args: {command: "*"}}`, "Bash", `{"command":5}`, "", hooks.None},
		{"ToolGlob", `match: {tool: "mcp__*"}`, "mcp__x__y", `{}`, "", hooks.Deny},
		{"Agent", `match: {agent: "coder-*"}`, "Bash", `{}`, `"agent":"coder-1",`, hooks.Deny},
		{"OtherAgent", `match: {agent: "coder-*"}`, "Bash", `{}`, `"agent":"planner",`, hooks.None},
		{"RunType", `match: {run_type: plan}`, "Bash", `{}`, `"run_type":"PLAN",`, hooks.Deny},
		{"When", `when: 'tool == "Bash" && args.count > 3'`, "Bash", `{"count":4}`, "", hooks.Deny},
		{"WhenNot", `when: 'tool == "Bash" && args.count > 3'`, "Bash", `{"count":3}`, "", hooks.None},
		{"Both", `match: {tool: Bash}, when: 'agent == "a"'`, "Bash", `{}`, `"agent":"b",`, hooks.None},
		{"Names", `when: 'point == "tool.before" && event == "PreToolUse" && session_id == "s" && step_count == 2 && not stopped'`, "Bash", `{}`, `"step_count":2,`, hooks.Deny},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := register(t, "hooks:\n  PreToolUse:\n    - {type: matcher, action: block, message: no, "+tt.hook+"}\n", Options{})
			out := dispatch(t, r, fmt.Sprintf(`{"event":"PreToolUse","session_id":"s",%s"tool":%q,"args":%s}`, tt.more, tt.tool, tt.args))
			if out.Verdict != tt.want || tt.want == hooks.Deny && out.Reason != "no" {
				t.Errorf("got %+v", out)
			}
			if ran := len(out.Executions) > 0; ran != (tt.want == hooks.Deny) {
				t.Errorf("got executions %+v: what does not match does not run", out.Executions)
			}
		})
	}
}

func TestMatcherActions(t *testing.T) {
	for action, want := range map[string]hooks.Verdict{"block": hooks.Deny, "ask": hooks.Ask, "allow": hooks.Allow} {
		r := register(t, "hooks:\n  PreToolUse:\n    - {type: matcher, match: {tool: '*'}, action: "+action+"}\n", Options{})
		if out := dispatch(t, r, gitStatus); out.Verdict != want {
			t.Errorf("%s: got %+v", action, out)
		}
	}
}

func TestWhenFails(t *testing.T) {
	for mode, want := range map[string]hooks.Verdict{"warn": hooks.None, "block": hooks.Deny, "ignore": hooks.None} {
		r := register(t, "hooks:\n  PreToolUse:\n    - {type: matcher, action: allow, when: 'args.missing.deeper startsWith \"x\"', on_failure: "+mode+"}\n", Options{})
		out := dispatch(t, r, gitStatus)
		if x := one(t, out); out.Verdict != want || x.Error != string(errWhen) {
			t.Errorf("%s: got %+v", mode, out)
		}
	}
}

// Conditions on results and payloads are evaluated by the hook itself.
func TestWhenLate(t *testing.T) {
	said := func(out hooks.DocumentOutcome) bool { return strings.Contains(out.Context, "seen") }
	hook := "    - {type: command, command: 'echo ''{\"action\":\"continue\",\"context\":\"seen\"}''', timeout_ms: 30000, when: %q}\n"
	for when, want := range map[string]bool{
		`result.ok`: true, `not result.ok`: false, `error == ""`: true, `payload.status == "success"`: true, "success": true, "failure": false,
	} {
		r := register(t, "hooks:\n  PostToolUse:\n"+fmt.Sprintf(hook, when), Options{})
		out := dispatch(t, r, `{"event":"PostToolUse","tool":"Bash","args":{},"result":{"ok":true},"session_id":"s"}`)
		if said(out) != want {
			t.Errorf("when: %s: got %+v", when, out)
		}
	}
	for when, want := range map[string]bool{`error contains "exit"`: true, "success": false, "failure": true} {
		r := register(t, "hooks:\n  PostToolUse:\n"+fmt.Sprintf(hook, when), Options{})
		out := dispatch(t, r, `{"event":"PostToolUse","tool":"Bash","args":{},"error":"exit status 1","session_id":"s"}`)
		if said(out) != want {
			t.Errorf("when: %s: got %+v", when, out)
		}
	}
	r := register(t, "hooks:\n  PromptSubmit:\n    - {type: matcher, action: block, when: 'payload.prompt contains \"secret\"'}\n", Options{})
	if out := dispatch(t, r, `{"event":"PromptSubmit","prompt":"tell me a secret"}`); out.Verdict != hooks.Deny {
		t.Errorf("got %+v", out)
	}
	if out := dispatch(t, r, `{"event":"PromptSubmit","prompt":"hello"}`); out.Verdict != hooks.None {
		t.Errorf("got %+v", out)
	}
}

func TestPolicies(t *testing.T) {
	r := register(t, `
policies:
  allowedWritePaths: ["src/**"]
  scrubPii: true
  mode: compat
  maxAskUserPerSession: 0
hooks:
  PreToolUse:
    - {type: matcher, match: {tool: "*"}, action: allow, priority: -1, name: early}
    - {type: matcher, match: {tool: "*"}, action: allow, name: late}
`, Options{})
	out := dispatch(t, r, `{"event":"PreToolUse","tool":"write_file","args":{"path":"secrets.txt"},"session_id":"s"}`)
	if out.Verdict != hooks.Deny || !strings.Contains(out.Reason, `"secrets.txt" does not match allowed paths`) {
		t.Errorf("got %+v", out)
	}
	names := ""
	for _, x := range out.Executions {
		names += x.Name + " "
	}
	if names != "early policy.allowedWritePaths " {
		t.Errorf("ran %s", names)
	}
	out = dispatch(t, r, `{"event":"PreToolUse","tool":"bash","args":{"command":"rm -rf /"},"session_id":"s"}`)
	if out.Verdict != hooks.Deny || !strings.Contains(out.Reason, "rm -rf") {
		t.Errorf("the default commands: got %+v", out)
	}
	for _, reg := range r.List() {
		if strings.HasPrefix(reg.Name, "policy.") && reg.Class != hooks.NotificationClass && reg.OnFailure != hooks.Block {
			t.Errorf("%s does not fail closed", reg.Name)
		}
	}
}

func TestRegisterAllOrNothing(t *testing.T) {
	f := parse(t, "policies: {}\nhooks:\n  PreToolUse:\n    - {type: command, command: x}\n    - {type: command, command: x}\n")
	f.Hooks[1].Async = true // the reader would refuse it
	r := hooks.NewRegistry(hooks.Options{})
	if err := f.Register(r, Options{}); err == nil || !strings.HasPrefix(err.Error(), "hooks.yaml:5: ") {
		t.Errorf("got %v", err)
	}
	if list := r.List(); len(list) > 0 {
		t.Errorf("got %+v", list)
	}
}

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
		{"Alternation", `match: {tool: "Edit|Write"}`, "write_file", `{}`, "", hooks.Deny},
		{"AlternationOfWholeNames", `match: {tool: "Edit|Write"}`, "TodoWrite", `{}`, "", hooks.None},
		{"List", `match: {tool: [Edit, Write]}`, "Write", `{}`, "", hooks.Deny},
		{"Comma", `match: {tool: "Edit, Write"}`, "Write", `{}`, "", hooks.Deny},
		{"Braces", `match: {tool: "{Write,Edit}"}`, "replace", `{}`, "", hooks.Deny},
		{"BracesInside", `match: {tool: "mcp__{a,b}__*"}`, "mcp__b__get", `{}`, "", hooks.Deny},
		{"Anchors", `match: {tool: "^Write$"}`, "Write", `{}`, "", hooks.Deny},
		{"AnchorsNot", `match: {tool: "^Write$"}`, "TodoWrite", `{}`, "", hooks.None},
		{"AnchorsAgentsName", `match: {tool: "^run_shell_command$"}`, "run_shell_command", `{}`, "", hooks.Deny},
		{"MCP", `match: {tool: "mcp__.*"}`, "mcp__memory__create", `{}`, "", hooks.Deny},
		{"MCPServers", `match: {tool: "mcp__(a|b)__.*"}`, "mcp__b__create", `{}`, "", hooks.Deny},
		{"MCPOther", `match: {tool: "mcp__(a|b)__.*"}`, "mcp__c__create", `{}`, "", hooks.None},
		{"Group", `match: {tool: "Web(Fetch|Search)"}`, "WebSearch", `{}`, "", hooks.Deny},
		{"Mixed", `match: {tool: "Edit|mcp__.*__write.*"}`, "mcp__fs__write_x", `{}`, "", hooks.Deny},
		{"Rule", `match: {tool: "Write(**/.env*)"}`, "Write", `{"file_path":"/r/a/.env.local"}`, "", hooks.Deny},
		{"RuleNot", `match: {tool: "Write(**/.env*)"}`, "Write", `{"file_path":"/r/a/main.go"}`, "", hooks.None},
		{"RuleOtherTool", `match: {tool: "Write(**/.env*)"}`, "Read", `{"file_path":"/r/a/.env"}`, "", hooks.None},
		{"RuleAgentsName", `match: {tool: "write_file(.env)"}`, "write_file", `{"path":"a/.env"}`, "", hooks.Deny},
		{"RuleEdits", `match: {tool: "Edit(src/)"}`, "Write", `{"path":"src/a/b.go"}`, "", hooks.Deny},
		{"RuleAbsolute", `match: {tool: "Read(//etc/**)"}`, "Read", `{"path":"/etc/passwd"}`, "", hooks.Deny},
		{"RuleProject", `match: {tool: "Read(/etc/**)"}`, "Read", `{"path":"/r/etc/x"}`, `"team_root":"/r",`, hooks.Deny},
		{"RuleCommand", `match: {tool: "Bash(git push *)"}`, "shell", `{"command":"git push origin"}`, "", hooks.Deny},
		{"RuleCommandAlone", `match: {tool: "Bash(git push:*)"}`, "Bash", `{"command":"git push"}`, "", hooks.Deny},
		{"RuleCommandLonger", `match: {tool: "Bash(ls *)"}`, "Bash", `{"command":"lsof"}`, "", hooks.None},
		{"RuleAll", `match: {tool: "Bash(*)"}`, "Bash", `{}`, "", hooks.Deny},
		{"RuleOrName", `match: {tool: "Bash(rm *)|Write"}`, "Write", `{}`, "", hooks.Deny},
		{"RuleDomain", `match: {tool: "WebFetch(domain:*.example.com)"}`, "web_fetch", `{"url":"HTTPS://a.Example.com:8080/x"}`, "", hooks.Deny},
		{"RuleDomainNot", `match: {tool: "WebFetch(domain:example.com)"}`, "WebFetch", `{"url":"https://example.org/example.com"}`, "", hooks.None},
		{"RuleAgent", `match: {tool: "Agent(Explore)"}`, "Task", `{"subagent_type":"Explore"}`, "", hooks.Deny},
		{"ArgsList", `match: {args: {command: ["rm *", "dd *"]}}`, "Bash", `{"command":"dd if=x"}`, "", hooks.Deny},
		{"AgentList", `match: {agent: [planner, coder]}`, "Bash", `{}`, `"agent":"coder",`, hooks.Deny},
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
		reason := map[string]string{"ask": "the hook PreToolUse[0] asks for approval"}[action]
		if out := dispatch(t, r, gitStatus); out.Verdict != want || out.Reason != reason {
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

// A pattern that matches no tool of a known agent gets a warning, and one that cannot match at all
// is a problem.
func TestToolPatterns(t *testing.T) {
	read := func(pattern string) (*File, error) {
		return Parse("hooks.yaml", []byte("hooks:\n  PreToolUse:\n    - {type: matcher, action: block, match: {tool: "+pattern+"}}\n"))
	}
	for _, pattern := range []string{
		`"*"`, "Bash", "bash", "run_shell_command", "Edit|Write", `"Edit|MultiEdit|Write|NotebookEdit"`, `"Notebook.*"`, `"mcp__.*"`, `"mcp__memory__.*"`, "mcp_x_y",
		`"^(Read|Grep|Glob)$"`, "Glob", "own.tool", "functions:shell", `"{Write,Edit}"`, "[Read, Task]", `"Bash(rm *)"`, `"Write|Edit|Bash(npm run test:*)"`, "apply_patch",
	} {
		if f, err := read(pattern); err != nil || len(f.Warnings) > 0 {
			t.Errorf("%s: got %v, %v", pattern, f, err)
		}
	}
	for pattern, want := range map[string]string{
		"Wrtie":            `hooks.yaml:3:52: PreToolUse[0].match.tool: no known agent has a tool "Wrtie"; did you mean "Write"?`,
		`"Edit|Wrtie"`:     `hooks.yaml:3:52: PreToolUse[0].match.tool: no known agent has a tool "Wrtie"; did you mean "Write"?`,
		"[Edit, ^write_$]": `hooks.yaml:3:52: PreToolUse[0].match.tool: no known agent has a tool "^write_$"; a tool of your own is right here`,
		"deploy_service":   `hooks.yaml:3:52: PreToolUse[0].match.tool: no known agent has a tool "deploy_service"; a tool of your own is right here`,
		`"Deploy*"`:        `hooks.yaml:3:52: PreToolUse[0].match.tool: no known agent has a tool "Deploy*"; a tool of your own is right here`,
	} {
		f, err := read(pattern)
		if err != nil || len(f.Warnings) != 1 || f.Warnings[0].String() != want {
			t.Errorf("%s: got %v, %v\nwant %s", pattern, f, err, want)
		}
	}
	for pattern, want := range map[string]string{
		`"Edit|"`: "alternative is empty", `"^(?!Read)"`: "cannot be compiled", `"Edit(a["`: "cannot be compiled", "[]": "empty", `"Read(a[)"`: "syntax error",
		`"Glob(x)"`: "unknown rule Glob", `"WebFetch(domain:*)"`: "want a name", `"{a,b}|` + strings.Repeat("x|", 100) + `x"`: "more than 100",
	} {
		if f, err := read(pattern); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, %v, want %q", pattern, f, err, want)
		}
	}
}

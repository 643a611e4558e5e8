package agents_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/capture/agents"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/hookfile"
)

const (
	claudePre     = `{"session_id":"s","cwd":"/w","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"rm -rf build/x"},"tool_use_id":"t"}`
	claudePost    = `{"session_id":"s","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{},"tool_response":{"stdout":"secret"},"tool_use_id":"t"}`
	claudeFailed  = `{"session_id":"s","hook_event_name":"PostToolUseFailure","tool_name":"Bash","tool_input":{},"error":"Exit code 2\nno","tool_use_id":"t"}`
	claudePrompt  = `{"session_id":"s","hook_event_name":"UserPromptSubmit","prompt":"go","prompt_id":"p"}`
	claudeStart   = `{"session_id":"s","hook_event_name":"SessionStart","source":"startup"}`
	claudeAsk     = `{"session_id":"s","hook_event_name":"PermissionRequest","tool_name":"Bash","tool_input":{"command":"ls"}}`
	claudeCompact = `{"session_id":"s","hook_event_name":"PreCompact","trigger":"auto"}`
	claudeSub     = `{"session_id":"s","hook_event_name":"SubagentStart","agent_id":"a","agent_type":"Explore"}`
	claudeStop    = `{"session_id":"s","hook_event_name":"Stop","prompt_id":"p"}`

	codexPre  = `{"session_id":"s","turn_id":"u","cwd":"/w","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"rm -rf build/x"},"tool_use_id":"t"}`
	codexPost = `{"session_id":"s","turn_id":"u","hook_event_name":"PostToolUse","tool_name":"Bash","tool_input":{"command":"ls"},"tool_response":"secret","tool_use_id":"t"}`

	geminiPre    = `{"session_id":"s","cwd":"/w","hook_event_name":"BeforeTool","timestamp":"2026-11-21T07:20:47Z","tool_name":"run_shell_command","tool_input":{"command":"rm -rf build/x"}}`
	geminiPost   = `{"session_id":"s","hook_event_name":"AfterTool","timestamp":"2026-11-21T07:20:48Z","tool_name":"run_shell_command","tool_input":{"command":"ls"},"tool_response":{"llmContent":"secret"}}`
	geminiPrompt = `{"session_id":"s","hook_event_name":"BeforeAgent","timestamp":"2026-11-21T07:20:45Z","prompt":"go"}`

	copilotPre      = `{"sessionId":"s","timestamp":1795246206212,"cwd":"/w","toolName":"bash","toolArgs":{"command":"rm -rf build/x"}}`
	copilotSnakePre = `{"hook_event_name":"PreToolUse","session_id":"s","timestamp":"2026-11-21T07:30:06.212Z","cwd":"/w","tool_name":"Bash","tool_input":{"command":"rm -rf build/x"}}`
	copilotAsk      = `{"hookName":"permissionRequest","sessionId":"s","timestamp":1795246207902,"toolName":"bash","toolInput":{"command":"ls"}}`
	copilotPrompt   = `{"sessionId":"s","timestamp":1795246203844,"prompt":"go"}`

	openCodePre  = `{"input":{"tool":"bash","sessionID":"s","callID":"t"},"output":{"args":{"command":"rm -rf build/x"}}}`
	openCodePost = `{"input":{"tool":"bash","sessionID":"s","callID":"t","args":{"command":"ls"}},"output":{"title":"ls","metadata":{"exit":0},"output":"secret"}}`
	openCodeAsk  = `{"input":{"type":"bash","sessionID":"s","callID":"t","title":"ls","metadata":{"command":"ls"}},"output":{"status":"ask"}}`
)

func outcome(v hooks.Verdict, reason string) hooks.DocumentOutcome {
	return hooks.DocumentOutcome{Verdict: v, Reason: reason}
}

var (
	denied      = outcome(hooks.Deny, "no")
	asked       = outcome(hooks.Ask, "sure?")
	allowed     = outcome(hooks.Allow, "fine")
	contextOnly = hooks.DocumentOutcome{Verdict: hooks.None, Context: "mind the gap"}
	patched     = hooks.DocumentOutcome{Verdict: hooks.None, Args: `{"command":"ls"}`}
	changed     = hooks.DocumentOutcome{Verdict: hooks.None, Value: `{"status":"success","result":"[gone]"}`}
	hidden      = hooks.DocumentOutcome{Verdict: hooks.None, Value: `{"status":"success","result":"secret","suppress_output":true}`}
	// withheld replaces a result that a hook could not check.
	withheld = hooks.DocumentOutcome{Verdict: hooks.None, Value: `{"status":"error","error":"withheld"}`}
)

func TestReply(t *testing.T) {
	const pre = `{"hookSpecificOutput":{"hookEventName":"PreToolUse",`
	tests := []struct {
		name, tool, event, payload string
		o                          hooks.DocumentOutcome
		want                       string
		verdict                    events.Verdict
	}{
		{"Deny", "claude-code", "", claudePre, denied, pre + `"permissionDecision":"deny","permissionDecisionReason":"no"}}`, hooks.Deny},
		{"DenyWithoutReason", "claude-code", "", claudePre, outcome(hooks.Deny, " "), pre + `"permissionDecision":"deny","permissionDecisionReason":"denied by a hook"}}`, hooks.Deny},
		{"Ask", "claude-code", "", claudePre, asked, pre + `"permissionDecision":"ask","permissionDecisionReason":"sure?"}}`, hooks.Ask},
		{"Allow", "claude-code", "", claudePre, allowed, pre + `"permissionDecision":"allow","permissionDecisionReason":"fine"}}`, hooks.Allow},
		{"NoOpinion", "claude-code", "", claudePre, outcome(hooks.None, ""), ``, hooks.None},
		{"Patch", "claude-code", "", claudePre, patched, pre + `"updatedInput":{"command":"ls"}}}`, hooks.None},
		{"Context", "claude-code", "", claudePre, contextOnly, `{"hookSpecificOutput":{"additionalContext":"mind the gap","hookEventName":"PreToolUse"}}`, hooks.None},
		{"Prompt", "claude-code", "", claudePrompt, denied, `{"decision":"block","reason":"no"}`, hooks.Deny},
		{"PromptContext", "claude-code", "", claudePrompt, contextOnly, `{"hookSpecificOutput":{"additionalContext":"mind the gap","hookEventName":"UserPromptSubmit"}}`, hooks.None},
		{"Session", "claude-code", "", claudeStart, contextOnly, `{"hookSpecificOutput":{"additionalContext":"mind the gap","hookEventName":"SessionStart"}}`, hooks.None},
		{"Approved", "claude-code", "", claudeAsk, allowed, `{"hookSpecificOutput":{"decision":{"behavior":"allow"},"hookEventName":"PermissionRequest"}}`, hooks.Allow},
		{"Refused", "claude-code", "", claudeAsk, denied, `{"hookSpecificOutput":{"decision":{"behavior":"deny","message":"no"},"hookEventName":"PermissionRequest"}}`, hooks.Deny},
		{"LeftToThePerson", "claude-code", "", claudeAsk, outcome(hooks.None, ""), ``, hooks.None},
		{"Result", "claude-code", "", claudePost, changed, `{"hookSpecificOutput":{"hookEventName":"PostToolUse","updatedToolOutput":{"stdout":"[gone]"}}}`, hooks.None},
		{"Withheld", "claude-code", "", claudePost, withheld, `{"hookSpecificOutput":{"hookEventName":"PostToolUse","updatedToolOutput":{"stdout":"withheld"}}}`, hooks.None},
		{"Suppress", "claude-code", "", strings.Replace(claudePost, `{"stdout":"secret"}`, `"secret"`, 1), hidden, `{"suppressOutput":true}`, hooks.None},
		{"FailureContext", "claude-code", "", claudeFailed, contextOnly, `{"hookSpecificOutput":{"additionalContext":"mind the gap","hookEventName":"PostToolUseFailure"}}`, hooks.None},
		{"Compaction", "claude-code", "", claudeCompact, denied, `{"decision":"block","reason":"no"}`, hooks.Deny},
		{"SubagentCannotBeDenied", "claude-code", "", claudeSub, denied, ``, hooks.None},
		{"Stop", "claude-code", "", claudeStop, denied, ``, ""},

		{"Deny", "codex", "", codexPre, denied, pre + `"permissionDecision":"deny","permissionDecisionReason":"no"}}`, hooks.Deny},
		{"AskIsDeny", "codex", "", codexPre, asked, pre + `"permissionDecision":"deny","permissionDecisionReason":"sure?"}}`, hooks.Deny},
		{"AllowSaysNothing", "codex", "", codexPre, allowed, ``, hooks.Allow},
		{"Patch", "codex", "", codexPre, patched, pre + `"permissionDecision":"allow","updatedInput":{"command":"ls"}}}`, hooks.None},
		{"Prompt", "codex", "", claudePrompt, denied, `{"decision":"block","reason":"no"}`, hooks.Deny},
		{"Refused", "codex", "", claudeAsk, denied, `{"hookSpecificOutput":{"decision":{"behavior":"deny","message":"no"},"hookEventName":"PermissionRequest"}}`, hooks.Deny},
		{"Result", "codex", "", codexPost, changed, `{"decision":"block","reason":"[gone]"}`, hooks.None},
		{"Withheld", "codex", "", codexPost, withheld, `{"decision":"block","reason":"withheld"}`, hooks.None},
		{"SuppressUnknown", "codex", "", codexPost, hidden, ``, hooks.None},
		{"Compaction", "codex", "", claudeCompact, denied, `{"continue":false,"stopReason":"no"}`, hooks.Deny},

		{"Deny", "gemini-cli", "", geminiPre, denied, `{"decision":"deny","reason":"no"}`, hooks.Deny},
		{"AskIsDeny", "gemini-cli", "", geminiPre, outcome(hooks.Ask, ""), `{"decision":"deny","reason":"a hook wants a person to decide, and gemini-cli cannot ask here"}`, hooks.Deny},
		{"Allow", "gemini-cli", "", geminiPre, allowed, ``, hooks.Allow},
		{"Patch", "gemini-cli", "", geminiPre, patched, `{"hookSpecificOutput":{"hookEventName":"BeforeTool","tool_input":{"command":"ls"}}}`, hooks.None},
		{"Prompt", "gemini-cli", "", geminiPrompt, denied, `{"decision":"deny","reason":"no"}`, hooks.Deny},
		{"PromptContext", "gemini-cli", "", geminiPrompt, contextOnly, `{"hookSpecificOutput":{"additionalContext":"mind the gap","hookEventName":"BeforeAgent"}}`, hooks.None},
		{"Result", "gemini-cli", "", geminiPost, changed, `{"decision":"deny","reason":"[gone]"}`, hooks.None},

		{"Withheld", "gemini-cli", "", geminiPost, withheld, `{"decision":"deny","reason":"withheld"}`, hooks.None},

		{"Deny", "copilot-cli", "preToolUse", copilotPre, denied, `{"permissionDecision":"deny","permissionDecisionReason":"no"}`, hooks.Deny},
		{"Ask", "copilot-cli", "preToolUse", copilotPre, asked, `{"permissionDecision":"ask","permissionDecisionReason":"sure?"}`, hooks.Ask},
		{"NoOpinion", "copilot-cli", "preToolUse", copilotPre, outcome(hooks.None, ""), ``, hooks.None},
		{"Patch", "copilot-cli", "", copilotPre, patched, `{"modifiedArgs":{"command":"ls"}}`, hooks.None},
		{"SnakeDeny", "copilot-cli", "", copilotSnakePre, denied, pre + `"permissionDecision":"deny","permissionDecisionReason":"no"},"permissionDecision":"deny","permissionDecisionReason":"no"}`, hooks.Deny},
		{"SnakePatch", "copilot-cli", "", copilotSnakePre, patched, pre + `"updatedInput":{"command":"ls"}},"modifiedArgs":{"command":"ls"}}`, hooks.None},
		{"Refused", "copilot-cli", "", copilotAsk, denied, `{"behavior":"deny","message":"no"}`, hooks.Deny},
		{"Approved", "copilot-cli", "", copilotAsk, allowed, `{"behavior":"allow"}`, hooks.Allow},
		{"PromptCannotBeDenied", "copilot-cli", "userPromptSubmitted", copilotPrompt, denied, ``, hooks.None},

		{"Deny", "opencode", "tool.execute.before", openCodePre, denied, `{"deny":"no"}`, hooks.Deny},
		{"AskIsDeny", "opencode", "", openCodePre, asked, `{"deny":"sure?"}`, hooks.Deny},
		{"Patch", "opencode", "tool.execute.before", openCodePre, patched, `{"output":{"args":{"command":"ls"}}}`, hooks.None},
		{"Result", "opencode", "tool.execute.after", openCodePost, changed, `{"output":{"output":"[gone]"}}`, hooks.None},
		{"Withheld", "opencode", "tool.execute.after", openCodePost, withheld, `{"output":{"output":"withheld"}}`, hooks.None},
		{"Context", "opencode", "tool.execute.after", openCodePost, contextOnly, `{"output":{"output":"secret\n\nmind the gap"}}`, hooks.None},
		{"Ask", "opencode", "permission.ask", openCodeAsk, asked, `{"output":{"status":"ask"}}`, hooks.Ask},
	}
	for _, tt := range tests {
		t.Run(tt.tool+"/"+tt.name, func(t *testing.T) {
			tool := named(t, tt.tool)
			p, err := tool.Parse([]byte(tt.payload), agents.Context{Tenant: "acme", Event: tt.event, CallIDs: agents.NewCallIDs()})
			if err != nil {
				t.Fatal(err)
			}
			got := tool.Reply(p, tt.o)
			if diff := cmp.Diff(tt.want, strings.TrimSuffix(string(got.Stdout), "\n")); diff != "" || got.Exit != 0 || got.Stderr != "" {
				t.Errorf("exit %d, %q (-want +got):\n%s", got.Exit, got.Stderr, diff)
			}
			if got := verdictOf(t, p.Decided(tt.o)); got != tt.verdict {
				t.Errorf("recorded verdict %q, want %q", got, tt.verdict)
			}
		})
	}
}

func verdictOf(tb testing.TB, list []events.Event) events.Verdict {
	tb.Helper()
	for _, e := range list {
		if member(tb, e.Data, "raw") == nil {
			continue
		}
		var d struct{ Verdict events.Verdict }
		if err := json.Unmarshal(e.Data, &d); err != nil {
			tb.Fatal(err)
		}
		return d.Verdict
	}
	return ""
}

// A rule for "rm *" in hooks.yaml denies in every dialect.
func TestReply_Matcher(t *testing.T) {
	file, err := hookfile.Parse("hooks.yaml", []byte(`
hooks:
  PreToolUse:
    - type: matcher
      match: {tool: Bash, args: {command: "rm *"}}
      action: block
      message: "not here"
`))
	if err != nil {
		t.Fatal(err)
	}
	r := hooks.NewRegistry(hooks.Options{})
	if err := file.Register(r, hookfile.Options{}); err != nil {
		t.Fatal(err)
	}
	for tool, payloads := range map[string][]string{
		"claude-code": {claudePre}, "codex": {codexPre}, "gemini-cli": {geminiPre},
		"copilot-cli": {copilotPre, copilotSnakePre}, "opencode": {openCodePre},
	} {
		for _, payload := range payloads {
			p, err := named(t, tool).Parse([]byte(payload), agents.Context{CallIDs: agents.NewCallIDs()})
			if err != nil || !p.Decides {
				t.Fatalf("%s: %v, decides %v", tool, err, p.Decides)
			}
			out, err := r.DispatchDocument(t.Context(), p.Document)
			if err != nil {
				t.Fatal(err)
			}
			reply := named(t, tool).Reply(p, out)
			if verdictOf(t, p.Decided(out)) != hooks.Deny || !strings.Contains(string(reply.Stdout), "not here") || !strings.Contains(string(reply.Stdout), "deny") {
				t.Errorf("%s: not denied: %+v, %s", tool, out, reply.Stdout)
			}
		}
	}
}

func TestFailClosed(t *testing.T) {
	for tool, payload := range map[string]string{
		"claude-code": claudePre, "codex": codexPre, "gemini-cli": geminiPre, "copilot-cli": copilotPre, "opencode": openCodePre,
	} {
		tool := named(t, tool)
		p, err := tool.Parse([]byte(payload), agents.Context{})
		if err != nil {
			t.Fatal(err)
		}
		if got := tool.FailClosed(p, "nobody is there"); !strings.Contains(string(got.Stdout), "nobody is there") || got.Exit != 0 {
			t.Errorf("%s: got %+v", tool.Name(), got)
		}
		junk := tool.Unreadable([]byte("{"), agents.Context{})
		if got := tool.FailClosed(junk, "nobody is there"); got.Exit != 2 || got.Stderr != "nobody is there" {
			t.Errorf("%s: got %+v for junk", tool.Name(), got)
		}
	}
	p, err := named(t, "claude-code").Parse([]byte(claudeStop), agents.Context{})
	if err != nil {
		t.Fatal(err)
	}
	if got := named(t, "claude-code").FailClosed(p, "nobody is there"); got.Exit != 0 || got.Stdout != nil {
		t.Errorf("got %+v where nothing can be denied", got)
	}
}

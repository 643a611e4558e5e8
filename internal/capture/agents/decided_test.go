package agents_test

import (
	"fmt"
	"testing"

	"github.com/hooktrail/hooktrail/internal/capture/agents"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

var unanswered = hooks.DocumentOutcome{Verdict: hooks.None}

// TestDecided_OtherHooks sends a payload to two hook commands, of which one denies it.
// The run shows the denial in either order.
func TestDecided_OtherHooks(t *testing.T) {
	for tool, payload := range map[string]string{"claude-code": claudePre, "copilot-cli": copilotPre, "opencode": openCodePre} {
		p := parse(t, tool, "", payload)
		nobody, quiet, no := p.Events[0], p.Decided(unanswered)[0], p.Decided(denied)[0]
		if nobody.ID != quiet.ID {
			t.Errorf("%s: %s without hooks, %s with hooks that said nothing", tool, nobody.ID, quiet.ID)
		}
		if no.ID == nobody.ID || no.ToolCall != nobody.ToolCall {
			t.Errorf("%s: the denial is %s of call %q, without it %s of call %q", tool, no.ID, no.ToolCall, nobody.ID, nobody.ToolCall)
		}
		if again := parse(t, tool, "", payload).Decided(denied)[0]; again.ID != no.ID {
			t.Errorf("%s: denied as %s and then as %s", tool, no.ID, again.ID)
		}
		changed := hooks.DocumentOutcome{Verdict: hooks.None, Args: `{"command":"ls"}`}
		if got := p.Decided(changed)[0]; got.ID == nobody.ID || got.Kind() != events.ToolBefore {
			t.Errorf("%s: changed arguments are recorded as %s %s", tool, got.Type, got.ID)
		}
	}
}

// A denial that a tool ignores is a different event than the payload without hooks.
func TestDecided_IgnoredDenial(t *testing.T) {
	p := parse(t, "claude-code", "", `{"session_id":"s","prompt_id":"p","hook_event_name":"SubagentStart","agent_id":"a","agent_type":"explore"}`)
	silent, ignored := p.Decided(unanswered)[0], p.Decided(denied)[0]
	if out, err := events.Payload[events.Outcome](ignored); err != nil || out.Verdict != hooks.None || out.Reason == "" {
		t.Fatalf("got %+v, %v, want an ignored denial", out, err)
	}
	if silent.ID == ignored.ID {
		t.Errorf("both are %s", silent.ID)
	}
}

// Two calls with equal arguments in the same millisecond are two calls, in both shapes
// of the payload.
func TestParse_CopilotCallsOfOneMoment(t *testing.T) {
	ids := map[string]bool{}
	for _, payload := range []string{
		`{"sessionId":"s","timestamp":1795246206212,"cwd":"/w","toolName":"view","toolArgs":{"path":"/w/a"}}`,
		`{"sessionId":"s","timestamp":1795246206212,"cwd":"/w","toolName":"list_dir","toolArgs":{"path":"/w/a"}}`,
		`{"hook_event_name":"PreToolUse","session_id":"s","timestamp":"2026-11-21T07:30:06.212Z","cwd":"/w","tool_name":"Read","tool_input":{"path":"/w/a"}}`,
	} {
		ids[parse(t, "copilot-cli", "", payload).Events[0].ID] = true
	}
	if len(ids) != 2 {
		t.Errorf("got %d ids, want 2", len(ids))
	}
}

// Claude Code and Codex send no call id when they ask a person, and Copilot CLI never does. The
// denial of such a question names the call that has no result.
func TestDecided_DeniedQuestion(t *testing.T) {
	const command = `"session_id":"s","cwd":"/w","tool_name":"Bash","tool_input":{"command":"git push"}`
	before := func(n int) string {
		return fmt.Sprintf(`{%s,"hook_event_name":"PreToolUse","tool_use_id":"t%d","turn_id":"x"}`, command, n)
	}
	result := fmt.Sprintf(`{%s,"hook_event_name":"PostToolUse","tool_use_id":"t1","turn_id":"x","tool_response":"ok"}`, command)
	question := fmt.Sprintf(`{%s,"hook_event_name":"PermissionRequest","turn_id":"x"}`, command)
	everyCallIDs(t, func(t *testing.T, callIDs agents.CallIDs) {
		t.Helper()
		for _, tool := range []string{"claude-code", "codex"} {
			send := func(payload string, o hooks.DocumentOutcome) string {
				return parseIn(t, agents.Context{Tenant: "acme", CallIDs: callIDs}, tool, payload).Decided(o)[0].ToolCall
			}
			send(before(1), unanswered)
			send(before(2), unanswered)
			if got := send(question, unanswered); got != "" {
				t.Errorf("%s: a question without a denial is of call %q", tool, got)
			}
			send(result, unanswered)
			send(before(3), denied)
			if got := send(question, denied); got != "t2" {
				t.Errorf("%s: the denial is of call %q, want t2", tool, got)
			}
			if got := send(question, denied); got != "" {
				t.Errorf("%s: a denial without an open call is of call %q", tool, got)
			}
		}
	})
}

func TestDecided_DeniedQuestionWithoutIDs(t *testing.T) {
	const call = `"sessionId":"s","cwd":"/w","toolName":"bash"`
	before := func(at int) string {
		return fmt.Sprintf(`{"hookName":"preToolUse",%s,"timestamp":%d,"toolArgs":{"command":"ls"}}`, call, at)
	}
	after := func(at int, result string) string {
		return fmt.Sprintf(`{"hookName":"postToolUse",%s,"timestamp":%d,"toolArgs":{"command":"ls"},"toolResult":{"resultType":%q}}`, call, at, result)
	}
	question := fmt.Sprintf(`{"hookName":"permissionRequest",%s,"timestamp":2,"toolInput":{"command":"ls"}}`, call)
	for _, report := range []bool{false, true} {
		everyCallIDs(t, func(t *testing.T, callIDs agents.CallIDs) {
			t.Helper()
			send := func(payload string, o hooks.DocumentOutcome) events.Event {
				return parseIn(t, agents.Context{Tenant: "acme", CallIDs: callIDs}, "copilot-cli", payload).Decided(o)[0]
			}
			first := send(before(1), unanswered).ToolCall
			no, again := send(question, denied), send(question, denied)
			if no.ToolCall != first || again.ToolCall != first || no.ID != again.ID {
				t.Errorf("the denial is of %q and its copy of %q, want %q", no.ToolCall, again.ToolCall, first)
			}
			if report {
				if got := send(after(3, "denied"), unanswered).ToolCall; got != first {
					t.Errorf("the result that states the denial is of %q, want %q", got, first)
				}
			}
			second := send(before(4), unanswered).ToolCall
			if got := send(after(5, "success"), unanswered).ToolCall; got != second || got == first {
				t.Errorf("the result is of %q, want %q and not the denied %q", got, second, first)
			}
		})
	}
}

package agents_test

import (
	"testing"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// TestDecided_OtherHooks sends a payload to two hook commands, of which one denies it.
// The run shows the denial in either order.
func TestDecided_OtherHooks(t *testing.T) {
	silent := hooks.DocumentOutcome{Verdict: hooks.None}
	for tool, payload := range map[string]string{"claude-code": claudePre, "copilot-cli": copilotPre, "opencode": openCodePre} {
		p := parse(t, tool, "", payload)
		nobody, quiet, no := p.Events[0], p.Decided(silent)[0], p.Decided(denied)[0]
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
	silent, ignored := p.Decided(hooks.DocumentOutcome{Verdict: hooks.None})[0], p.Decided(denied)[0]
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

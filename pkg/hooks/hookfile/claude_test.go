package hookfile

import (
	"testing"

	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// Scripts in the style of Claude Code's documentation read tool_input and answer with
// hookSpecificOutput.
func TestCommand_ClaudeScript(t *testing.T) {
	for _, tt := range []struct {
		name, command string
		verdict       hooks.Verdict
		reason, args  string
	}{
		{
			name:    "Deny",
			command: `grep -q '"hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"git status"}' && echo '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"not now"}}'`,
			verdict: hooks.Deny, reason: "not now",
		},
		{
			name:    "Change",
			command: `echo '{"hookSpecificOutput":{"permissionDecision":"allow","updatedInput":{"command":"git status -s"}}}'`,
			verdict: hooks.Allow, args: `{"command":"git status -s"}`,
		},
		{name: "Block", command: `echo '{"decision":"block","reason":"no"}'`, verdict: hooks.Deny, reason: "no"},
		{name: "Stop", command: `echo '{"continue":false,"stopReason":"enough"}'`, verdict: hooks.Deny, reason: "enough"},
		{name: "Nothing", command: `echo '{}'`, verdict: hooks.None},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			out := dispatch(t, register(t, commandHook("PreToolUse", tt.command), Options{}), gitStatus)
			if tt.args == "" {
				tt.args = `{"command":"git status"}`
			}
			if x := one(t, out); !x.Success {
				t.Errorf("got %+v", x)
			}
			if out.Verdict != tt.verdict || out.Reason != tt.reason || string(out.Args) != tt.args {
				t.Errorf("got %+v", out)
			}
		})
	}
}

func TestCommand_ClaudeUnknownValue(t *testing.T) {
	command := `echo '{"hookSpecificOutput":{"permissionDecision":"perhaps"}}'`
	x := one(t, dispatch(t, register(t, commandHook("PreToolUse", command), Options{}), gitStatus))
	if x.Success || x.Error == "" {
		t.Errorf("got %+v, want a failure", x)
	}
}

// As in Claude Code, plain text at a prompt is a context for the agent.
func TestCommand_PlainText(t *testing.T) {
	r := register(t, commandHook("PromptSubmit", "echo Use tabs."), Options{})
	out := hooks.PromptSubmit.Dispatch(t.Context(), r, hooks.Meta{}, hooks.Prompt{Text: "go"})
	if out.Context != "Use tabs." || out.Verdict != hooks.None {
		t.Errorf("got %+v, want the printed text as context", out)
	}
}

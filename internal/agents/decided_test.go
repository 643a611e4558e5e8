package agents_test

import (
	"testing"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// TestDecided_OtherHooks: a payload that came to two hook commands, one of which
// denied it, is recorded as denied, whichever came first: a consumer that takes
// each id once does not take the first for all.
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

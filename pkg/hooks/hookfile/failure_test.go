package hookfile

import (
	"errors"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/pkg/hooks"
)

const failing = `
hooks:
  PreToolUse:
    - {type: command, command: exit 9}
    - {type: command, command: exit 9, on_failure: ignore}
  PostToolUse:
    - {type: command, command: exit 9}
    - {type: command, command: exit 9, async: true}
  SessionStart:
    - {type: command, command: exit 9}
  SessionStop:
    - {type: command, command: exit 9}
  message.create:
    - {type: command, command: exit 9}
`

// The key at the top applies to all hooks that can block and have no mode, wherever it is.
//
//guarantee:fail-closed-file
func TestOnFailure_OfTheFile(t *testing.T) {
	const none = hooks.FailureMode(0)
	tests := map[string][]hooks.FailureMode{
		"":                      {none, hooks.Ignore, none, none, none, none, none},
		"on_failure: block\n":   {hooks.Block, hooks.Ignore, hooks.Block, none, none, none, hooks.Block},
		"on_failure: warn\n":    {none, hooks.Ignore, none, none, none, none, none},
		"on_failure: 'block'\n": {hooks.Block, hooks.Ignore, hooks.Block, none, none, none, hooks.Block},
	}
	for key, want := range tests {
		for _, text := range []string{key + failing, failing + key} {
			for i, h := range parse(t, text).Hooks {
				if h.OnFailure != want[i] {
					t.Errorf("%q: %s fails with %s, want %s", key, h.Name, h.OnFailure, want[i])
				}
			}
		}
	}
	out := dispatch(t, register(t, "on_failure: block"+failing, Options{}), gitStatus)
	if out.Verdict != hooks.Deny || !strings.Contains(out.Reason, "PreToolUse[0] failed") {
		t.Errorf("got %+v", out)
	}
	if out := dispatch(t, register(t, failing, Options{}), gitStatus); out.Verdict != hooks.None {
		t.Errorf("got %+v", out)
	}
}

func TestOnFailure_BlockWhereNothingBlocks(t *testing.T) {
	tests := map[string]string{
		"hooks:\n  SessionStart:\n    - {type: command, command: x, on_failure: block}\n":                 `f:3:47: SessionStart[0].on_failure: SessionStart cannot be blocked; write warn, or use an event before it`,
		"hooks:\n  SessionStop:\n    - {on_failure: block, type: command, command: x}\n":                  `f:3:20: SessionStop[0].on_failure: SessionStop cannot be blocked; write warn, or use an event before it`,
		"hooks:\n  PostToolUse:\n    - {type: command, command: x, async: true, on_failure: block}\n":     `f:3:60: PostToolUse[0].on_failure: nothing waits for an async hook, so it cannot block; leave async out, or write warn`,
		"hooks:\n  PreToolUse:\n    - {type: command, command: x, on_failure: block}\non_failure: deny\n": `f:4:13: on_failure: "deny" does not exist; there are warn, block`,
	}
	for text, want := range tests {
		_, err := Parse("f", []byte(text))
		invalid, ok := errors.AsType[*InvalidError](err)
		if !ok || len(invalid.Problems) != 1 || invalid.Problems[0].String() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

package hookfile

import (
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// Whatever the order in the file, nothing changes a call after a rule has judged it.
//
//guarantee:judged-last
func TestLast_RulesJudgeWhatCommandsChange(t *testing.T) {
	const change = `    - {type: command, name: change, priority: 9, command: 'echo ''{"action":"modify","modified_args":{"command":"rm -rf /"}}'''}
`
	rules := map[string]string{
		"Policy":  "policies: {presets: [destructive-commands], blockedCommands: []}\nhooks:\n  PreToolUse:\n" + change,
		"Matcher": "hooks:\n  PreToolUse:\n    - {type: matcher, match: {args: {command: 'rm *'}}, action: block}\n" + change,
		"Command": "hooks:\n  PreToolUse:\n    - {type: command, command: 'if grep -q rm; then exit 2; fi', last: true}\n" + change,
	}
	for name, file := range rules {
		t.Run(name, func(t *testing.T) {
			out := dispatch(t, register(t, file, Options{}), gitStatus)
			if out.Verdict != hooks.Deny || out.Args != `{"command":"rm -rf /"}` || out.Executions[0].Name != "change" {
				t.Errorf("got %+v", out)
			}
		})
	}
	t.Run("NotLast", func(t *testing.T) {
		file := strings.Replace(rules["Matcher"], "action: block", "action: block, last: false", 1)
		if out := dispatch(t, register(t, file, Options{}), gitStatus); out.Verdict != hooks.None {
			t.Errorf("got %+v", out)
		}
	})
	t.Run("Scrubber", func(t *testing.T) {
		file := `policies: {scrubPii: true, blockedCommands: []}
hooks:
  PostToolUse:
    - {type: command, command: 'echo ''{"action":"modify","modified_args":{"result":"mail ann@example.com"}}'''}
`
		out := dispatch(t, register(t, file, Options{}), `{"event":"PostToolUse","tool":"Bash","args":{},"result":"ok","session_id":"s"}`)
		if !strings.Contains(string(out.Value), "mail [EMAIL_REDACTED]") {
			t.Errorf("got %+v", out)
		}
	})
}

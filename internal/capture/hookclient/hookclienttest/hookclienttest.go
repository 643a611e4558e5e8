// Package hookclienttest has hook payloads of each agent, and helpers that read the
// recorded events.
package hookclienttest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// NoRemoval is a hooks.yaml that denies rm.
const NoRemoval = `
hooks:
  PreToolUse:
    - {type: matcher, name: no-rm, match: {tool: Bash, args: {command: "rm *"}}, action: block, message: Nothing is removed here}
`

// Output contains the exit status, stdout and stderr of a hook command.
type Output struct {
	Status         int
	Stdout, Stderr string
}

// HooksFile writes a hooks.yaml and returns its path.
func HooksFile(tb testing.TB, text string) string {
	tb.Helper()
	file := filepath.Join(tb.TempDir(), "hooks.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return file
}

// Forwarded sends the events in the shared outbox of a data directory to the stream. It returns all
// events of the stream.
func Forwarded(tb testing.TB, srv *natstest.Server, dir string) []events.Event {
	tb.Helper()
	p, err := publish.OpenShared(tb.Context(), srv.Connect(tb), publish.Options{
		Dir: filepath.Join(dir, "outbox", "shared"), Name: "shared", Redactor: publish.NoRedaction,
	})
	if err != nil {
		tb.Fatal(err)
	}
	if err := p.Close(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return srv.Events(tb)
}

// Calls returns the payloads of the tool.before events in list.
func Calls(tb testing.TB, list []events.Event) (calls []events.ToolBeforeData) {
	tb.Helper()
	for _, e := range list {
		if e.Kind() != events.ToolBefore {
			continue
		}
		data, err := events.Payload[events.ToolBeforeData](e)
		if err != nil {
			tb.Fatal(err)
		}
		calls = append(calls, data)
	}
	return calls
}

// Removal is a hook payload in which an agent asks to run rm -rf. Denied is the expected reply if
// the hooks of [NoRemoval] are installed.
type Removal struct{ Name, Tool, Event, Payload, Denied string }

// Removals contains a payload of each agent. Tests must not change it.
var Removals = []Removal{ //nolint:gochecknoglobals // a constant
	{
		"ClaudeCode", "claude-code", "",
		`{"session_id":"s1","cwd":"/p","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"rm -rf build/x"},"tool_use_id":"t1"}`,
		`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"Nothing is removed here"}}`,
	},
	{
		"Codex", "codex", "",
		`{"session_id":"s1","turn_id":"u1","cwd":"/p","hook_event_name":"PreToolUse","tool_name":"Bash","tool_input":{"command":"rm -rf build/x"},"tool_use_id":"c1"}`,
		`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"Nothing is removed here"}}`,
	},
	{
		"GeminiCLI", "gemini-cli", "",
		`{"session_id":"s1","cwd":"/p","hook_event_name":"BeforeTool","timestamp":"2026-11-21T07:20:46.206Z","tool_name":"run_shell_command","tool_input":{"command":"rm -rf build/x"}}`,
		`{"decision":"deny","reason":"Nothing is removed here"}`,
	},
	{
		"CopilotCLI", "copilot-cli", "preToolUse",
		`{"sessionId":"s1","timestamp":1795246206212,"cwd":"/p","toolName":"bash","toolArgs":{"command":"rm -rf build/x"}}`,
		`{"permissionDecision":"deny","permissionDecisionReason":"Nothing is removed here"}`,
	},
	{
		"CopilotCLI_PascalCase", "copilot-cli", "",
		`{"hook_event_name":"PreToolUse","session_id":"s1","timestamp":"2026-11-21T07:30:06.212Z","cwd":"/p","tool_name":"Bash","tool_input":{"command":"rm -rf build/x"}}`,
		`{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"Nothing is removed here"},` +
			`"permissionDecision":"deny","permissionDecisionReason":"Nothing is removed here"}`,
	},
	{
		"OpenCode", "opencode", "tool.execute.before",
		`{"input":{"tool":"bash","sessionID":"s1","callID":"c1"},"output":{"args":{"command":"rm -rf build/x"}}}`,
		`{"deny":"Nothing is removed here"}`,
	},
}

// Package hookclienttest is what tests of hook commands have in common: payloads of
// the agents, and what came of them.
package hookclienttest

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/testkit/natstest"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// NoRemoval is a hooks.yaml that denies to remove anything.
const NoRemoval = `
hooks:
  PreToolUse:
    - {type: matcher, name: no-rm, match: {tool: Bash, args: {command: "rm *"}}, action: block, message: Nothing is removed here}
`

// Said is what a hook command does.
type Said struct {
	Status         int
	Stdout, Stderr string
}

// Says runs the hook command of publisher, which is that command or one that has
// it, on a payload.
func Says(tb testing.TB, publisher *cobra.Command, dir, payload string, args ...string) Said {
	tb.Helper()
	var out, errs bytes.Buffer
	publisher.SetIn(strings.NewReader(payload))
	publisher.SetOut(&out)
	publisher.SetErr(&errs)
	status := cli.Execute(tb.Context(), publisher, append([]string{"hook", "--data-dir", dir}, args...))
	return Said{status, out.String(), errs.String()}
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

// Forwarded forwards what lies in the shared outbox of a data directory, and
// returns what is in the stream then.
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

// Calls returns the decisions about tool calls among events.
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

// Removal is a payload by which a tool asks whether rm -rf build/x may run, and
// how it takes a denial by [NoRemoval].
type Removal struct{ Name, Tool, Event, Payload, Denied string }

// Removals are those of all tools. Nobody changes them.
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

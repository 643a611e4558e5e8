package publisher

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/cli"
	"github.com/hooktrail/hooktrail/internal/natstest"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// noRemoval is a hooks.yaml that denies to remove anything.
const noRemoval = `
hooks:
  PreToolUse:
    - {type: matcher, name: no-rm, match: {tool: Bash, args: {command: "rm *"}}, action: block, message: Nothing is removed here}
`

// said is what a hook command does.
type said struct {
	Status         int
	Stdout, Stderr string
}

// hookSays runs publisher hook on a payload.
func hookSays(tb testing.TB, dir, payload string, args ...string) said {
	tb.Helper()
	cmd := Command()
	var out, errs bytes.Buffer
	cmd.SetIn(strings.NewReader(payload))
	cmd.SetOut(&out)
	cmd.SetErr(&errs)
	status := cli.Execute(tb.Context(), cmd, append([]string{"hook", "--data-dir", dir}, args...))
	return said{status, out.String(), errs.String()}
}

// hooksFile writes a hooks.yaml and returns its path.
func hooksFile(tb testing.TB, text string) string {
	tb.Helper()
	file := filepath.Join(tb.TempDir(), "hooks.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		tb.Fatal(err)
	}
	return file
}

// recorded returns what hook commands have left in a data directory.
func recorded(tb testing.TB, dir string) []events.Event {
	tb.Helper()
	return recordedIn(tb, natstest.Start(tb), dir)
}

// recordedIn forwards what hook commands have left in a data directory, and
// returns what is in the stream then. On a busy machine it can lie in the spool.
func recordedIn(tb testing.TB, srv *natstest.Server, dir string) []events.Event {
	tb.Helper()
	if err := sweep(tb.Context(), dir); err != nil {
		tb.Fatal(err)
	}
	p, err := publish.OpenShared(tb.Context(), srv.Connect(tb), publish.Options{
		Dir: outboxDir(dir, "shared"), Name: "shared", Redactor: publish.NoRedaction,
	})
	if err != nil {
		tb.Fatal(err)
	}
	if err := p.Close(tb.Context()); err != nil {
		tb.Fatal(err)
	}
	return stored(tb, srv)
}

// callsIn returns the decisions about tool calls among events.
func callsIn(tb testing.TB, list []events.Event) (calls []events.ToolBeforeData) {
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

// removals are the payloads by which the tools ask whether rm -rf build/x may
// run, and how they take a denial.
var removals = []struct{ name, tool, event, payload, denied string }{
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

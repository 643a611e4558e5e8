package gemini_test

import (
	"testing"

	"github.com/hooktrail/hooktrail/internal/capture/ingest/gemini"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// A command that a signal ended has no exit code, and did not succeed.
//
//guarantee:outcome-text
func TestOutcome_Signal(t *testing.T) {
	for said, want := range map[string]events.ToolStatus{
		"Command: c\nDirectory: /p\nOutput: x\nError: (none)\nExit Code: (none)\nSignal: 9\nProcess Group PGID: 7": events.ToolError,
		"Output: Tool execution denied by policy\nSignal: 9\nProcess Group PGID: 7":                                events.ToolError,
		"Output: x\nSignal: SIGKILL": events.ToolError,
		"Output: x\nError: (none)\nExit Code: 0\nSignal: (none)\nProcess Group PGID: 7": events.ToolSuccess,
		"Output: Signal: 9\nx\nProcess Group PGID: 7":                                   events.ToolSuccess,
	} {
		if got := gemini.Outcome("run_shell_command", "success", said, nil); got.Status != want || got.DeniedBy != "" {
			t.Errorf("%q: got %s %s", said, got.Status, got.DeniedBy)
		}
	}
}

// An MCP server chooses its text, and a person can cancel a command that printed anything.
//
//guarantee:outcome-text
func TestOutcome_TextOfOthers(t *testing.T) {
	const no = "Tool execution denied by policy."
	for _, tt := range []struct{ tool, status, said, want string }{
		{"mcp_db_drop", "error", no, "error "},
		{"db__drop", "error", "Tool execution blocked: by me", "error "},
		{"discovered_tool_x", "error", no, "error "},
		{"read_file", "error", "File not found: /p/" + no, "error "},
		{"write_file", "error", no + " Not here.", "denied permissions"},
		{"write_file", "error", "Tool execution blocked: no", "denied hook"},
		{"run_shell_command", "cancelled", "Command was cancelled. Output: User denied execution", "interrupted "},
		{"mcp_db_drop", "cancelled", "[Operation Cancelled] Reason: User did not allow tool call", "denied user"},
	} {
		got := gemini.Outcome(tt.tool, tt.status, tt.said, nil)
		if s := string(got.Status) + " " + string(got.DeniedBy); s != tt.want {
			t.Errorf("%s %s %q: got %q, want %q", tt.tool, tt.status, tt.said, s, tt.want)
		}
	}
}

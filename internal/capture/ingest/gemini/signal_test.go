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

package dialogue_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/dialogue"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/ingesttest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// A command of pi that failed cannot pass for one that was stopped or refused, whatever it prints.
//
//guarantee:outcome-text
func TestEvents_PiOutput(t *testing.T) {
	const was = `no rule\n\nCommand exited with code 2`
	for output, want := range map[string]string{
		`Command aborted\n\nCommand exited with code 2`:            "error exit 2",
		`Operation aborted\n\nCommand exited with code 2`:          "error exit 2",
		`Tool execution was blocked\n\nCommand exited with code 2`: "error exit 2",
		`Tool execution was blocked\n\nCommand timed out`:          "error",
		`Command aborted\n\nCommand timed out after 5 seconds`:     "error",
		`some output\n\nCommand aborted`:                           "interrupted interrupted",
		`Tool execution was blocked by an extension`:               "denied by hook blocked_by_hook",
	} {
		data := strings.Join(samples[dialogue.Pi], "\n")
		if !strings.Contains(data, was) {
			t.Fatal("the sample has no failed command")
		}
		data = strings.Replace(data, was, output, 1)
		if got := firstOutcome(t, dialogue.Pi, data); got != want {
			t.Errorf("%s: got %q, want %q", output, got, want)
		}
		other := strings.Replace(data, `"toolName":"bash"`, `"toolName":"database"`, 1)
		if got := firstOutcome(t, dialogue.Pi, other); !strings.HasPrefix(got, "error") {
			t.Errorf("%s of an extension: got %q", output, got)
		}
	}
}

// Nor can the answer of an MCP server of Qwen Code.
//
//guarantee:outcome-text
func TestEvents_QwenServer(t *testing.T) {
	const was = `"name":"run_shell_command","response":{"error":"Command: make test\nOutput: FAIL\nError: (none)\nExit Code: 2\nSignal: (none)\nProcess Group PGID: 4242"}`
	sample := strings.Join(samples[dialogue.Qwen], "\n")
	if !strings.Contains(sample, was) {
		t.Fatal("the sample has no failed command")
	}
	for _, text := range []string{
		"this requires permission to use a database", "Qwen Code requires permission to use x", "Tool execution denied by policy", "Tool execution blocked: x",
	} {
		data := strings.Replace(sample, was, `"name":"mcp__db__drop","response":{"error":"`+text+`"}`, 1)
		if got := firstOutcome(t, dialogue.Qwen, data); got != "error" {
			t.Errorf("%s: got %q", text, got)
		}
	}
}

func firstOutcome(t *testing.T, format, data string) string {
	t.Helper()
	list, _ := ingesttest.Read(t, dialogue.Events(format), []byte(data), ingest.Options{})
	i := slices.IndexFunc(list, func(e events.Event) bool { return e.Kind() == events.ToolResult })
	if i < 0 {
		t.Fatal("no result")
	}
	return ingesttest.Outcome(t, list[i])
}

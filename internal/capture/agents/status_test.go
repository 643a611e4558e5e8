package agents_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// ended returns the outcome of a call, for example "success" or "error 1: why".
func ended(t *testing.T, tool, event, payload string) string {
	t.Helper()
	for _, e := range parse(t, tool, event, payload).Events {
		p, err := events.Payload[events.ToolResultData](e)
		if e.Kind() != events.ToolResult || err != nil {
			continue
		}
		s := string(p.Status)
		if p.ExitCode != nil {
			s += " " + strconv.Itoa(*p.ExitCode)
		}
		if p.Error != nil {
			s += ": " + p.Error.Message
			if p.Error.Class != "" {
				s += " (" + p.Error.Class + ")"
			}
		}
		return s
	}
	return "no result"
}

func quoted(t *testing.T, s string) string {
	t.Helper()
	text, err := hooks.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

//guarantee:outcome-text
func TestStatus_ClaudeCode(t *testing.T) {
	const payload = `{"session_id":"s","tool_use_id":"t","tool_name":"Bash","hook_event_name":`
	for rest, want := range map[string]string{
		`"PostToolUse","tool_response":{"stdout":"x","interrupted":false}}`:                     "success",
		`"PostToolUse","tool_response":{"interrupted":true}}`:                                   "interrupted: interrupted (interrupted)",
		`"PostToolUseFailure","error":"Exit code 127\nno"}`:                                     "error 127: Exit code 127\nno",
		`"PostToolUseFailure","error":"Exit code 1"}`:                                           "error 1: Exit code 1",
		`"PostToolUseFailure","error":"Exit code is unknown","is_interrupt":true}`:              "interrupted: Exit code is unknown (interrupted)",
		`"PostToolUseFailure","error":"File does not exist. Exit code 3","is_interrupt":false}`: "error: File does not exist. Exit code 3",
		`"PostToolUseFailure"}`: "error: ",
		`"PostToolUseFailure","error":"Exit code 137\n[Request interrupted by user for tool use]"}`: "error 137: Exit code 137\n[Request interrupted by user for tool use]",
		`"PostToolUse","tool_name":"mcp__db__drop","tool_response":{"interrupted":true}}`:           "success",
		`"PostToolUseFailure","error":"The user doesn't want to proceed with this tool use."}`:      "denied: The user doesn't want to proceed with this tool use.",
		`"PostToolUseFailure","error":"Permission to use Bash with command ls has been denied."}`:   "denied: Permission to use Bash with command ls has been denied.",
	} {
		if got := ended(t, "claude-code", "", payload+rest); got != want {
			t.Errorf("%s: got %q, want %q", rest, got, want)
		}
	}
}

func TestStatus_Codex(t *testing.T) {
	tests := []struct{ command, response, want string }{
		{"echo hello", `"hello\n"`, "success"},
		{"cat /no", `"cat: /no: No such file or directory\n"`, "error: cat: /no: No such file or directory"},
		{"cat log", `"exec command rejected by user\n"`, "success"}, // Codex runs no hook after a refused call
		{"cat errors.log", `"error: fatal: failed: No such file or directory\n"`, "success"},
		{"frob x", `"/bin/bash: line 1: frob: command not found\n"`, "error 127: /bin/bash: line 1: frob: command not found"},
		{"ls", `"Exit code: 2\nWall time: 0.1 seconds\nOutput:\nno\n"`, "error 2: no"},
		{"ls", `"Chunk ID: ab\nWall time: 0.1 seconds\nProcess exited with code 0\nOutput:\ncat: ls: No such file or directory\n"`, "success 0"},
		{"cat notes", `"Exit code: 7\nthat is what it says\n"`, "success"},
		{"ls", `{"output":"no","metadata":{"exit_code":3}}`, "error 3: no"},
		{"ls", `{"stdout":"","stderr":"no","exit_code":1}`, "error 1: no"},
		{"ls", `{"exit_code":"x"}`, "success"},
		{"", `{"content":[{"type":"text","text":"no such page"}],"isError":true}`, "error: no such page"},
		{"", `{"content":[{"type":"text","text":"a page"}],"isError":false}`, "success"},
	}
	for _, tt := range tests {
		payload := `{"session_id":"s","turn_id":"u","hook_event_name":"PostToolUse","tool_use_id":"t","tool_name":"Bash",` +
			`"tool_input":{"command":` + quoted(t, tt.command) + `},"tool_response":` + tt.response + `}`
		if got := ended(t, "codex", "", payload); got != tt.want {
			t.Errorf("%s, %s: got %q, want %q", tt.command, tt.response, got, tt.want)
		}
	}
}

func TestStatus_GeminiCLI(t *testing.T) {
	tests := []struct{ tool, response, want string }{
		{"run_shell_command", `{"llmContent":"Output: x\nProcess Group PGID: 1"}`, "success"},
		{"run_shell_command", `{"llmContent":"<untrusted_context>\nOutput: no\nExit Code: 1\nProcess Group PGID: 8\n</untrusted_context>"}`, "error 1: no"},
		{"run_shell_command", `{"llmContent":"Command: ls\nDirectory: (root)\nOutput: a\nError: (none)\nExit Code: 0\nSignal: 0\nBackground PIDs: (none)\nProcess Group PGID: 8"}`, "success 0"},
		{"run_shell_command", `{"llmContent":"Output: Exit Code: 3\nand more\nProcess Group PGID: 8"}`, "success"},
		{"run_shell_command", `{"llmContent":"Exit Code: 3"}`, "success"},
		{"run_shell_command", `{"llmContent":[{"text":"Output: x\nExit Code: 2"}]}`, "error 2: x"},
		{"read_file", `{"llmContent":"Output: x\nExit Code: 1"}`, "success"},
		{"read_file", `{"llmContent":"not found","error":{"message":"File not found","type":"file_not_found"}}`, "error: File not found (file_not_found)"},
		{"read_file", `{"error":"no"}`, "error: no"},
	}
	for _, tt := range tests {
		payload := `{"session_id":"s","hook_event_name":"AfterTool","timestamp":"2026-11-21T07:20:48Z","tool_name":"` + tt.tool + `","tool_input":{},"tool_response":` + tt.response + `}`
		if got := ended(t, "gemini-cli", "", payload); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.response, got, tt.want)
		}
	}
}

func TestStatus_CopilotCLI(t *testing.T) {
	tests := []struct{ tool, result, want string }{
		{"bash", `"toolResult":{"resultType":"success","textResultForLlm":"hi\n<shellId: 0 completed with exit code 0>"}`, "success 0"},
		{"bash", `"toolResult":{"resultType":"success","textResultForLlm":"no\n<shellId: 1 completed with exit code 1>\n"}`, "error 1: no"},
		{"bash", `"toolResult":{"resultType":"success","textResultForLlm":"<shellId: 1 completed with exit code 1>\nwas printed"}`, "success"},
		{"view", `"toolResult":{"resultType":"success","textResultForLlm":"<shellId: 1 completed with exit code 1>"}`, "success"},
		{"view", `"toolResult":{"resultType":"denied","textResultForLlm":"not allowed"}`, "denied: not allowed (denied)"},
		{"view", `"error":"Path does not exist"`, "error: Path does not exist"},
		{"view", `"error":{"message":"no"}`, "error: no"},
	}
	for _, tt := range tests {
		payload := `{"sessionId":"s","timestamp":1795246206999,"toolName":"` + tt.tool + `","toolArgs":{},` + tt.result + `}`
		if got := ended(t, "copilot-cli", "", payload); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.result, got, tt.want)
		}
	}
}

func TestStatus_OpenCode(t *testing.T) {
	for output, want := range map[string]string{
		`"bash","callID":"t"},"output":{"title":"x","metadata":{"exit":0}}}`:                           "success 0",
		`"bash","callID":"t"},"output":{"title":"x","metadata":{"exit":1},"output":"no\n"}}`:           "error 1: no",
		`"bash","callID":"t"},"output":{"title":"x","metadata":{"exit":null},"output":"timed out\n"}}`: "error: timed out (interrupted)",
		`"bash","callID":"t"},"output":{"title":"x","metadata":{},"output":"x\n"}}`:                    "success",
		`"grep","callID":"t"},"output":{"title":"x","metadata":{"exit":1}}}`:                           "success",
	} {
		if got := ended(t, "opencode", "", `{"input":{"sessionID":"s","tool":`+output); got != want {
			t.Errorf("%s: got %q, want %q", output, got, want)
		}
	}
}

// OpenCode sends no end of a session, so the run ends with each turn. Nothing says that it completed,
// because OpenCode is idle after an error too.
func TestOpenCode_IdleEndsTheRun(t *testing.T) {
	read := parse(t, "opencode", "event.session.idle", `{"id":"e1","type":"session.idle","properties":{"sessionID":"s1"}}`)
	for _, e := range read.Events {
		if data, err := events.Payload[events.RunFinishedData](e); e.Kind() == events.RunFinished {
			if err != nil || e.Run != "s1" || data.Success || data.Status() != events.RunUnknown || !data.IsEndOfLog() {
				t.Errorf("got %s of run %s, %v", e.Data, e.Run, err)
			}
			return
		}
	}
	t.Errorf("no run.finished in %v", read.Events)
}

// Gemini CLI states only the signal of a killed command, which did not succeed.
//
//guarantee:outcome-text
func TestResult_GeminiSignal(t *testing.T) {
	for _, text := range []string{`Output: x\nSignal: 9`, `Command: c\nDirectory: /p\nOutput: x\nError: (none)\nExit Code: (none)\nSignal: 9\nProcess Group PGID: 7`} {
		payload := `{"session_id":"s","hook_event_name":"AfterTool","timestamp":"2026-11-21T07:20:48Z","tool_name":"run_shell_command","tool_input":{"command":"c"},"tool_response":{"llmContent":"` + text + `"}}`
		if got := ended(t, "gemini-cli", "", payload); !strings.HasPrefix(got, "error") {
			t.Errorf("%s: %s", text, got)
		}
	}
}

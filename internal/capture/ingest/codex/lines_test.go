package codex_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/codex"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/ingesttest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func at(second int, kind, payload string) string {
	return `{"timestamp":"2026-01-01T00:00:` + strconv.Itoa(10+second) + `Z","type":"` + kind + `","payload":` + payload + `}`
}

var meta = at(0, "session_meta", `{"id":"s","cwd":"/w","cli_version":"0.1","originator":"tui","git":{"branch":"main"}}`)

var samples = map[string][]string{
	"Turn": {
		meta,
		at(0, "response_item", `{"type":"message","role":"developer","content":[{"type":"input_text","text":"be good"}]}`),
		at(1, "event_msg", `{"type":"task_started","turn_id":"t1"}`),
		at(1, "event_msg", `{"type":"user_message","message":"list","images":[]}`),
		at(1, "turn_context", `{"turn_id":"t1","model":"m1"}`),
		at(2, "response_item", `{"type":"function_call","name":"shell","arguments":"{\"command\":[\"ls\"]}","call_id":"c1"}`),
		at(3, "response_item", `{"type":"function_call_output","call_id":"c1","output":"{\"output\":\"a\\n\",\"metadata\":{\"exit_code\":0,\"duration_seconds\":0.5}}"}`),
		at(3, "event_msg", `{"type":"token_count","info":{"total_token_usage":{"input_tokens":10,"cached_input_tokens":4,"output_tokens":2},"last_token_usage":{"input_tokens":10,"cached_input_tokens":4,"output_tokens":2}}}`),
		at(3, "event_msg", `{"type":"token_count","info":{"total_token_usage":{"input_tokens":10,"cached_input_tokens":4,"output_tokens":2},"last_token_usage":{"input_tokens":10,"cached_input_tokens":4,"output_tokens":2}}}`),
		at(4, "event_msg", `{"type":"user_message","message":"and more"}`),
		at(5, "event_msg", `{"type":"task_complete","turn_id":"t1","last_agent_message":"done"}`),
		at(6, "event_msg", `{"type":"task_started","turn_id":"t2"}`),
		at(6, "turn_context", `{"turn_id":"t2","model":"m2"}`),
		at(7, "event_msg", `{"type":"error","message":"You've hit your usage limit"}`),
		at(8, "event_msg", `{"type":"turn_aborted","reason":"interrupted","turn_id":"t2"}`),
	},
	"SubAgent": {
		at(0, "session_meta", `{"id":"child","source":{"subagent":{"thread_spawn":{"parent_thread_id":"s","agent_role":"explorer"}}}}`),
		at(1, "event_msg", `{"type":"user_message","message":"explore"}`),
	},
	"Spawns": {
		meta,
		at(1, "response_item", `{"type":"function_call","name":"spawn_agent","arguments":"{\"message\":\"explore\",\"agent_type\":\"explorer\"}","call_id":"c"}`),
		at(2, "response_item", `{"type":"function_call_output","call_id":"c","output":"{\"agent_id\":\"child\",\"nickname\":\"Euler\"}"}`),
	},
	"OldRollout": {
		`{"id":"old","timestamp":"2025-06-01T00:00:00Z","instructions":null}`,
		`{"record_type":"state"}`,
		`{"type":"message","role":"user","content":[{"type":"input_text","text":"go"}]}`,
		`{"type":"local_shell_call","call_id":"c","status":"completed","action":{"type":"exec","command":["ls"]}}`,
		`{"type":"function_call_output","call_id":"c","output":"Exit code: 2\nWall time: 1.5 seconds\nOutput:\nno such file\n"}`,
	},
	"Stream": {
		`{"type":"thread.started","thread_id":"x"}`, `{"type":"turn.started"}`,
		`{"type":"item.started","item":{"id":"item_0","type":"command_execution","command":"false","aggregated_output":"","status":"in_progress"}}`,
		`{"type":"item.completed","item":{"id":"item_0","type":"command_execution","command":"false","aggregated_output":"","exit_code":1,"status":"failed"}}`,
		`{"type":"item.completed","item":{"id":"item_1","type":"mcp_tool_call","server":"db","tool":"query","arguments":{"q":1},"error":{"message":"gone"},"status":"failed"}}`,
		`{"type":"item.completed","item":{"id":"item_2","type":"todo_list","items":[]}}`,
		`{"type":"error","message":"Reconnecting... 1/5"}`,
		`{"type":"turn.completed","usage":{"input_tokens":5,"cached_input_tokens":1,"output_tokens":1}}`,
		`{"type":"turn.started"}`,
		`{"type":"item.started","item":{"id":"item_0","type":"command_execution","command":"false","aggregated_output":"","status":"in_progress"}}`,
		`{"type":"turn.failed","error":{"message":"stream disconnected: connection reset"}}`,
	},
	"Version169": {
		meta, at(1, "event_msg", `{"type":"task_started","turn_id":"u1"}`),
		at(1, "event_msg", `{"type":"item_completed","thread_id":"s","turn_id":"u1","item":{"type":"UserMessage","id":"i1","content":[{"type":"text","text":"ping it","text_elements":[]}]}}`),
		at(2, "response_item", `{"type":"tool_search_call","call_id":"ts1","status":"completed","execution":"client","arguments":{"query":"ping"}}`),
		at(3, "response_item", `{"type":"tool_search_output","call_id":"ts1","status":"completed","execution":"client","tools":[{"name":"ping"}]}`),
		at(4, "response_item", `{"type":"function_call","name":"ping","namespace":"mcp__demo","arguments":"{}","call_id":"c1"}`),
		at(5, "response_item", `{"type":"function_call_output","call_id":"c1","output":"pong"}`),
		at(6, "event_msg", `{"type":"item_completed","turn_id":"u1","item":{"type":"AgentMessage","id":"i2","content":[]}}`),
		at(6, "event_msg", `{"type":"task_complete","turn_id":"u1","last_agent_message":"pong"}`),
		at(7, "event_msg", `{"type":"task_started","turn_id":"u2"}`),
		at(7, "response_item", `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I begin"}]}`),
	},
	"Junk": {meta, `{"type":`, `[1]`, `7`, `{"type":7}`, `{"timestamp":"noon","type":"event_msg","payload":3}`, at(1, "never_seen", `{"a":1}`)},
}

func brief(tb testing.TB, e events.Event) string {
	tb.Helper()
	s := string(e.Kind())
	switch e.Kind() {
	case events.Custom:
		s += " " + ingesttest.Payload[events.CustomData](tb, e).Name
	case events.StepFinished:
		p := ingesttest.Payload[events.StepFinishedData](tb, e)
		s += " " + string(p.StepStatus) + " " + p.InputSummary + " → " + p.OutputSummary
	case events.ToolBefore:
		p := ingesttest.Payload[events.ToolBeforeData](tb, e)
		s += " " + p.Tool + " " + string(p.Args)
	case events.ToolResult:
		p := ingesttest.Payload[events.ToolResultData](tb, e)
		s += " " + p.Tool + " " + string(p.Status)
		if p.ExitCode != nil {
			s += " exit " + strconv.Itoa(*p.ExitCode)
		}
		s += " " + strconv.FormatInt(p.DurationMS, 10) + "ms"
	case events.PromptSubmit:
		s += " " + ingesttest.Payload[events.PromptSubmitData](tb, e).Prompt
	case events.MessageCreated:
		s += " " + ingesttest.Payload[events.MessageData](tb, e).Role
	case events.Error:
		s += " " + ingesttest.Payload[events.ErrorData](tb, e).Error.Class
	case events.SubagentStart:
		s += " " + ingesttest.Payload[events.SubagentStartData](tb, e).Subagent
	}
	return s
}

func TestEvents_Lines(t *testing.T) {
	want := map[string][]string{
		"Turn": {
			"run.started", "session.start", "message.created developer", "custom event_msg.task_started", "prompt.submit list",
			"custom turn_context", `tool.before shell {"command":["ls"]}`, "tool.result shell success exit 0 500ms", "response.completed",
			"custom event_msg.token_count", "prompt.submit and more", "custom event_msg.task_complete", "step.finished completed list → done",
			"custom event_msg.task_started", "model.switched", "custom turn_context", "error rate_limit", "custom event_msg.turn_aborted",
			"step.finished failed  → ", "run.finished",
		},
		"SubAgent": {"run.started", "session.start", "prompt.submit explore", "step.finished unknown explore → ", "run.finished"},
		"Spawns": {
			"run.started", "session.start", `tool.before spawn_agent {"message":"explore","agent_type":"explorer"}`,
			"tool.result spawn_agent success 1000ms", "subagent.start child", "step.finished unknown  → ", "run.finished",
		},
		"OldRollout": {
			"run.started", "session.start", "custom untyped", "message.created user",
			`tool.before local_shell {"type":"exec","command":["ls"]}`, "tool.result local_shell error exit 2 1500ms",
			"step.finished unknown  → ", "run.finished",
		},
		"Stream": {
			"run.started", "session.start", `tool.before shell {"command":"false"}`, "tool.result shell error exit 1 0ms",
			`tool.before mcp__db__query {"q":1}`, "tool.result mcp__db__query error 0ms", "custom item.completed.todo_list", "error connection",
			"response.completed", "step.finished completed  → ", `tool.before shell {"command":"false"}`, "error connection",
			"step.finished failed  → ", "run.finished",
		},
		"Version169": {
			"run.started", "session.start", "custom event_msg.task_started", "prompt.submit ping it",
			`tool.before tool_search {"query":"ping"}`, "tool.result tool_search success 1000ms",
			"tool.before mcp__demo__ping {}", "tool.result mcp__demo__ping success 1000ms", "custom event_msg.item_completed",
			"custom event_msg.task_complete", "step.finished completed ping it → pong",
			"custom event_msg.task_started", "message.created assistant", "step.finished unknown  → I begin", "run.finished",
		},
		"Junk": {"run.started", "session.start", "custom untyped", "custom event_msg.", "custom never_seen", "run.finished"},
	}
	reports := map[string][]string{"Junk": {
		"f:2:8: not JSON: the line ends early", "f:3: not a JSON object", "f:4: not a JSON object",
		"f:5:9: type: unexpected number", "f:6: " + ingest.BadTime,
	}}
	for name, lines := range samples {
		t.Run(name, func(t *testing.T) {
			ingesttest.Compare(t, codex.Events, strings.Join(lines, "\n"), brief, want[name], reports[name])
		})
	}
}

func TestEvents_SubAgent(t *testing.T) {
	list, _ := ingesttest.Read(t, codex.Events, []byte(strings.Join(samples["SubAgent"], "\n")), ingest.Options{})
	for _, e := range list {
		got := []string{e.Run, e.ParentRun, e.ParentAgent, e.Agent, e.Session}
		if diff := cmp.Diff([]string{"s/child", "s", "codex", "explorer", "s"}, got); diff != "" {
			t.Fatalf("%s (-want +got):\n%s", e.Type, diff)
		}
	}
}

// Events of a stream without times have the time of the clock, but their ids do not
// depend on it. Equal lines in two turns are two events.
func TestEvents_StreamClock(t *testing.T) {
	data := []byte(strings.Join(samples["Stream"], "\n"))
	clock := func(year int) ingest.Options {
		return ingest.Options{File: "-", Now: func() time.Time { return time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC) }}
	}
	first, _ := ingesttest.Read(t, codex.Events, data, clock(2030))
	second, _ := ingesttest.Read(t, codex.Events, data, clock(2031))
	for i := range first {
		if first[i].ID != second[i].ID || first[i].Time.Year() != 2030 || second[i].Time.Year() != 2031 {
			t.Errorf("%s: %s at %v, then %s at %v", first[i].Type, first[i].ID, first[i].Time, second[i].ID, second[i].Time)
		}
	}
}

func TestEvents_Status(t *testing.T) {
	tests := []struct {
		name, output, want string
	}{
		{"Text", `"error: this is what the file says"`, "success"},
		{"Header", `"Chunk ID: 1\nWall time: 0.2 seconds\nProcess exited with code 1\nOriginal token count: 3\nOutput:\ncat: x: No such file"`, "error exit 1"},
		{"HeaderSuccess", `"Chunk ID: 1\nWall time: 0.2 seconds\nProcess exited with code 0\nOutput:\nExit code: 1"`, "success exit 0"},
		{"StillRunning", `"Chunk ID: 1\nWall time: 10 seconds\nProcess running with session ID 7\nOutput:\n"`, "success"},
		{"QuotedHeader", `"log:\nExit code: 1\nWall time: 1 seconds\nOutput:\nx"`, "success"},
		{"Old", `"{\"output\":\"no\",\"metadata\":{\"exit_code\":127,\"duration_seconds\":0.1}}"`, "error exit 127"},
		{"OldObject", `{"content":"no","success":false}`, "error"},
		{"Server", `"{\"content\":[{\"type\":\"text\",\"text\":\"no\"}],\"isError\":true}"`, "error"},
		{"Patch", `"apply_patch verification failed: Failed to find expected lines"`, "error"},
		{"Rejected", `"exec command rejected by user"`, "denied by user rejected"},
		{"ByUser", `"patch rejected by user"`, "denied by user rejected"},
		{"ByRules", `"approval policy is Never; reject command — you cannot ask for escalated permissions"`, "denied by permissions rejected"},
		{"BySandbox", `"patch rejected: writing is blocked by read-only sandbox; rejected by user approval settings"`, "denied by sandbox rejected"},
		{"ExecBySandbox", `"Command denied by sandbox: operation not permitted"`, "denied by sandbox rejected"},
		{"ByReviewer", `"This action was rejected due to unacceptable risk.\nReason: no"`, "denied by permissions rejected"},
		{"ByHook", `"Command blocked by PreToolUse hook: no. Command: ls"`, "denied by hook blocked_by_hook"},
		{"Aborted", `"aborted by user after 2.1s"`, "interrupted interrupted"},
		{"Sandbox", `"failed in sandbox LinuxSeccomp with execution error: sandbox denied exec error, exit code: 1, stdout: , stderr: no"`, "error exit 1"},
		{"Blocks", `[{"type":"input_text","text":"unsupported call: foo"}]`, "error"},
		{"Nothing", `null`, "success"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			lines := []string{
				meta, at(1, "response_item", `{"type":"function_call","name":"x","arguments":"not JSON","call_id":"c"}`),
				at(2, "response_item", `{"type":"function_call_output","call_id":"c","output":`+tt.output+`}`),
			}
			list, _ := ingesttest.Read(t, codex.Events, []byte(strings.Join(lines, "\n")), ingest.Options{})
			if got := ingesttest.Outcome(t, list[3]); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// The audited agent chooses what a command prints and what an MCP server answers. Neither shows a
// failed call as a refused or interrupted one, nor a successful command as a failed one.
//
//guarantee:outcome-text
func TestEvents_OutputChangesNoStatus(t *testing.T) {
	const began = `{"type":"thread.started","thread_id":"s"}` + "\n" + `{"type":"turn.started"}` + "\n" + `{"type":"item.completed","item":{"id":"i",`
	for _, text := range []string{"aborted by user", "rejected by user", "approval policy is x", "patch rejected: x", "Command denied by sandbox: x", "failed: x"} {
		ended := func(code int) string {
			return at(2, "event_msg", `{"type":"exec_command_end","call_id":"c","exit_code":`+strconv.Itoa(code)+`,"duration":{"secs":1,"nanos":0}}`)
		}
		called := meta + "\n" + at(1, "response_item", `{"type":"function_call","name":"x","arguments":"{}","call_id":"c"}`) + "\n"
		answered := "\n" + at(3, "response_item", `{"type":"function_call_output","call_id":"c","output":"`+text+`"}`)
		for name, tt := range map[string]struct{ lines, want string }{
			"stream":       {began + `"type":"command_execution","command":"make","aggregated_output":"` + text + `","exit_code":1,"status":"failed"}}`, "error exit 1"},
			"MCP stream":   {began + `"type":"mcp_tool_call","server":"db","tool":"drop","error":{"message":"` + text + `"},"status":"failed"}}`, "error"},
			"failed":       {called + ended(1) + answered, "error exit 1"},
			"succeeded":    {called + ended(0) + answered, "success exit 0"},
			"MCP function": {strings.Replace(called, `"name":"x"`, `"name":"mcp__db__drop"`, 1) + answered, "success"},
		} {
			if name == "MCP function" && text == "failed: x" {
				tt.want = "error"
			}
			list, _ := ingesttest.Read(t, codex.Events, []byte(tt.lines), ingest.Options{})
			i := slices.IndexFunc(list, func(e events.Event) bool { return e.Kind() == events.ToolResult })
			if i < 0 {
				t.Fatalf("%s with %q: no result", name, text)
			}
			if got := ingesttest.Outcome(t, list[i]); got != tt.want {
				t.Errorf("%s with %q: got %q, want %q", name, text, got, tt.want)
			}
		}
	}
}

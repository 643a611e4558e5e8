package claude_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/claude"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/ingesttest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// u and a are the beginnings of user and assistant lines.
const (
	u = `{"type":"user","sessionId":"s","timestamp":"2026-01-01T00:00:00.5Z",`
	a = `{"type":"assistant","sessionId":"s","timestamp":"2026-01-01T00:00:01Z",`
)

func brief(tb testing.TB, e events.Event) string {
	tb.Helper()
	s := string(e.Kind())
	switch e.Kind() {
	case events.Custom:
		s += " " + ingesttest.Payload[events.CustomData](tb, e).Name
	case events.StepFinished:
		p := ingesttest.Payload[events.StepFinishedData](tb, e)
		s += " " + e.Step + " " + string(p.StepStatus)
	case events.ToolBefore, events.ToolResult, events.SubagentStart, events.SubagentStopped:
		s += " " + e.ToolCall
	case events.MessageCreated:
		s += " " + ingesttest.Payload[events.MessageData](tb, e).Role
	case events.Error:
		s += " " + ingesttest.Payload[events.ErrorData](tb, e).Error.Class
	}
	if e.Run != "s" {
		s = e.Run + ": " + s
	}
	return s
}

func TestEvents_Lines(t *testing.T) {
	begin := []string{"run.started", "session.start"}
	tests := []struct {
		name  string
		lines []string
		want  []string // without the initial run.started and session.start of session "s"
		bad   []string
	}{
		{
			"PromptCallResult",
			[]string{
				u + `"uuid":"p1","message":{"role":"user","content":"do it"}}`,
				a + `"uuid":"a1","message":{"id":"m1","content":[{"type":"thinking","thinking":"…"},{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}],"usage":{"input_tokens":3,"output_tokens":4}}}`,
				u + `"uuid":"u1","message":{"content":[{"type":"tool_result","tool_use_id":"t1","content":"x"}]}}`,
				u + `"uuid":"p2","message":{"content":[{"type":"text","text":"more"}]}}`,
			},
			[]string{
				"prompt.submit", "message.created assistant", "tool.before t1", "tool.result t1",
				"response.completed", "step.finished p1 unknown", "prompt.submit", "step.finished p2 unknown", "run.finished",
			},
			nil,
		},
		{
			"NoPrompts",
			[]string{
				u + `"uuid":"1","isMeta":true,"message":{"content":"Caveat"}}`,
				u + `"uuid":"2","message":{"content":"<command-name>/exit</command-name>"}}`,
				u + `"uuid":"3","message":{"content":[{"type":"text","text":"[Request interrupted by user]"}]}}`,
				u + `"uuid":"4","isCompactSummary":true,"message":{"content":"This session is being continued"}}`,
				u + `"uuid":"5","isSidechain":true,"message":{"content":"asked of a sub-agent"}}`,
				u + `"uuid":"6","message":{"content":""}}`,
			},
			[]string{
				"message.created system", "message.created user", "message.created user", "message.created system",
				"message.created user", "message.created user", "run.finished",
			},
			nil,
		},
		{
			"SlashCommandIsPrompt",
			[]string{u + `"uuid":"1","message":{"content":"<command-message>plan</command-message>\n<command-name>/plan</command-name>"}}`},
			[]string{"prompt.submit", "step.finished 1 unknown", "run.finished"},
			nil,
		},
		{
			"ResultWithoutCall",
			[]string{u + `"uuid":"1","message":{"content":[{"type":"tool_result","tool_use_id":"t9","content":[{"type":"text","text":"no"}],"is_error":true}]}}`},
			[]string{"tool.result t9", "step.finished 1 unknown", "run.finished"},
			nil,
		},
		{
			"SecondCallAndResult",
			[]string{
				a + `"uuid":"1","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"Read","input":{}}]}}`,
				a + `"uuid":"2","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"Read","input":{"again":1}}]}}`,
				u + `"uuid":"3","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"1"}]}}`,
				u + `"uuid":"4","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"2"}]}}`,
			},
			[]string{
				"tool.before t", "custom tool_use.repeated", "tool.result t", "custom tool_result.repeated",
				"response.completed", "step.finished 1 unknown", "run.finished",
			},
			nil,
		},
		{
			"SubAgent",
			[]string{
				a + `"uuid":"1","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"Task","input":{"subagent_type":"Plan","description":"d","prompt":"p"}}]}}`,
				`{"type":"progress","sessionId":"s","timestamp":"2026-01-01T00:00:02Z","uuid":"2","parentToolUseID":"t","data":{"type":"agent_progress","agentId":"ag"}}`,
				u + `"uuid":"3","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"done"}]},"toolUseResult":{"agentId":"ag","totalTokens":9,"totalToolUseCount":2}}`,
				u + `"uuid":"4","agentId":"ag","isSidechain":true,"message":{"content":"p"}}`,
			},
			[]string{
				"tool.before t", "subagent.start t", "custom progress.agent_progress", "tool.result t", "subagent.stopped t",
				"s/ag: run.started", "s/ag: prompt.submit",
				"response.completed", "step.finished 1 unknown", "run.finished", "s/ag: step.finished 4 unknown", "s/ag: run.finished",
			},
			nil,
		},
		{
			"BackgroundSubAgent",
			[]string{
				a + `"uuid":"1","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"Agent","input":7}]}}`,
				u + `"uuid":"3","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"launched"}]},"toolUseResult":{"status":"async_launched","agentId":"ag"}}`,
			},
			[]string{"tool.before t", "tool.result t", "subagent.start t", "response.completed", "step.finished 1 unknown", "run.finished"},
			nil,
		},
		{
			"APIErrors",
			[]string{
				u + `"uuid":"p","message":{"content":"go"}}`,
				`{"type":"system","subtype":"api_error","sessionId":"s","uuid":"1","error":{"status":529,"error":{"type":"overloaded_error"}},"retryAttempt":2,"retryInMs":500.5}`,
				a + `"uuid":"2","isApiErrorMessage":true,"error":"rate_limit","message":{"id":"m","model":"<synthetic>","content":[{"type":"text","text":"You've hit your limit"}]}}`,
			},
			[]string{"prompt.submit", "error overloaded", "message.created assistant", "error rate_limit", "response.completed", "step.finished p failed", "run.finished"},
			nil,
		},
		{
			"SystemLines",
			[]string{
				`{"type":"summary","summary":"t","leafUuid":"x"}`,
				`{"type":"system","subtype":"compact_boundary","sessionId":"s","timestamp":"2026-01-01T00:00:00Z","uuid":"1","compactMetadata":{"trigger":"auto","preTokens":155000}}`,
				`{"type":"system","subtype":"local_command","sessionId":"s","uuid":"2","content":"<command-name>/model</command-name>"}`,
				`{"type":"system","subtype":"stop_hook_summary","sessionId":"s","uuid":"3"}`,
				`{"type":"system","subtype":"turn_duration","sessionId":"s","uuid":"4","durationMs":7}`,
				`{"type":"file-history-snapshot","messageId":"x","snapshot":{"messageId":"x","trackedFileBackups":{"b":{},"a":{}}}}`,
				`{"type":"never-seen","message":"not an object","data":[1]}`,
			},
			[]string{
				"custom summary", "session.start", "compact.before", "message.created system", "custom system.stop_hook_summary",
				"checkpoint.created", "custom never-seen", "run.finished",
			},
			nil,
		},
		{
			"Malformed",
			[]string{
				u + `"uuid":"p","message":{"content":"go"}}`,
				`{"type":`, `[1]`, "null", "{\"a\":\x00}", `{"a":1}{"b":2}`, "  ", `{"type":"user",,}`,
				u + `"uuid":"b1","message":{"content":7}}`,
				u + `"uuid":"b2","message":"gone"}`,
				a + `"uuid":"b3","message":{"content":[],"usage":{"input_tokens":-1}}}`,
				a + `"uuid":7}`,
				`{"type":"user","sessionId":"` + strings.Repeat("x", 121) + `"}`,
				u + `"uuid":"b4","message":{"content":[{"type":"tool_result","tool_use_id":"a\u0000b"}]}}`,
				a + `"uuid":"ok","message":{"id":"m","content":[{"type":"text","text":"x` + "\xff\xfe" + `\ud83d"}]}}`,
			},
			[]string{
				"prompt.submit", "custom user", "custom user", "custom assistant", "custom assistant", "custom user",
				"message.created assistant", "response.completed", "step.finished p completed", "run.finished",
			},
			[]string{
				"f:2:8: not JSON: the line ends early", "f:3: not a JSON object", "f:4: not a JSON object",
				"f:5:6: not JSON: NUL byte", "f:6:8: not JSON: more text after the value", "f:8:16: not JSON: unexpected character",
				"f:9: message.content: neither text nor blocks", "f:10: message: not a message",
				"f:11: message.usage: a count is out of range", "f:12:79: uuid: unexpected number",
				"f:13: sessionId or agentId: cannot be used as an id", "f:14: message.content[0].tool_use_id: cannot be used as an id",
				"f:15:139: not UTF-8, repaired",
			},
		},
		{
			"RepeatedLines",
			[]string{
				u + `"uuid":"p","message":{"content":"go"}}`, u + `"uuid":"p","message":{"content":"go"}}`,
				u + `"uuid":"p","message":{"content":"other"}}`, `{"type":"x"}`, `{"type":"x"}`,
			},
			[]string{
				"prompt.submit", "step.finished p unknown", "prompt.submit", "custom x",
				"step.finished p-515bfd7b3c19ccd0fb98ee630712d9f4 unknown", "run.finished",
			},
			nil,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			want := append(slices.Clone(begin), tt.want...)
			if tt.name == "SystemLines" {
				want = append([]string{"run.started"}, tt.want...)
			}
			ingesttest.Compare(t, claude.Events, strings.Join(tt.lines, "\n"), brief, want, tt.bad)
		})
	}
}

func TestEvents_Payloads(t *testing.T) {
	long := strings.Repeat("e", 3000)
	list, _ := read(t, "f", []byte(strings.Join([]string{
		u + `"uuid":"p","cwd":"/w","version":"2","gitBranch":"main","message":{"content":[{"type":"image","source":{}},{"type":"text","text":"see"}]}}`,
		a + `"uuid":"1","message":{"id":"m","model":"opus","stop_reason":null,"content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"a < b"}}],"usage":{"input_tokens":1,"output_tokens":2,"cache_creation_input_tokens":3,"cache_read_input_tokens":4}}}`,
		a + `"uuid":"2","message":{"id":"m","model":"opus","stop_reason":"tool_use","content":[{"type":"tool_use","id":"t2","name":"Bash","input":{}}],"usage":{"input_tokens":1,"output_tokens":20,"cache_creation_input_tokens":3,"cache_read_input_tokens":4}}}`,
		`{"type":"user","sessionId":"s","timestamp":"2026-01-01T00:00:03.25Z","uuid":"3","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"Exit code 1","is_error":true}]},"toolUseResult":"Error: Exit code 1"}`,
		u + `"uuid":"4","message":{"content":[{"type":"tool_result","tool_use_id":"t2","content":"` + long + `","is_error":true}]},"toolUseResult":{"durationMs":12}}`,
		`{"type":"system","subtype":"turn_duration","sessionId":"s","uuid":"5","durationMs":4321}`,
	}, "\n")))
	byKind := map[events.Kind][]events.Event{}
	for _, e := range list {
		byKind[e.Kind()] = append(byKind[e.Kind()], e)
	}
	tests := []struct {
		name      string
		got, want any
	}{
		{"RunStarted", string(byKind[events.RunStarted][0].Data), `{"cwd":"/w","version":"2","metadata":{"git_branch":"main"}}`},
		{"Prompt", string(byKind[events.PromptSubmit][0].Data), `{"prompt":"see","raw":[{"type":"image","source":{}},{"type":"text","text":"see"}]}`},
		{"Args", string(byKind[events.ToolBefore][0].Data), `{"tool":"Bash","args":{"command":"a < b"}}`},
		{"ShortError", string(byKind[events.ToolResult][0].Data), `{"tool":"Bash","status":"error","error":{"message":"Exit code 1"},"exit_code":1,"duration_ms":2250}`},
		{"LongError", string(byKind[events.ToolResult][1].Data), `{"tool":"Bash","status":"error","result":"` + long + `","error":{"message":"` + long[:1000] + " … " + long[:1000] + `"},"duration_ms":12,"raw":{"durationMs":12}}`},
		{"Response", ingesttest.Payload[events.ResponseCompletedData](t, byKind[events.ResponseCompleted][0]).TokensUsed, &events.Tokens{Input: 1, Output: 20, CacheCreation: 3, CacheRead: 4}},
		{"StepDuration", ingesttest.Payload[events.StepFinishedData](t, byKind[events.StepFinished][0]).DurationMS, int64(4321)},
		{"RunFinished", ingesttest.Payload[events.RunFinishedData](t, byKind[events.RunFinished][0]), events.RunFinishedData{
			Success: true, RunStatus: events.RunCompleted, DurationMS: 2750, TokensUsed: &events.Tokens{Input: 1, Output: 20, CacheCreation: 3, CacheRead: 4},
			Steps: 1, ToolCalls: 2, ToolErrors: 2,
		}},
		{"Attributes", byKind[events.ToolResult][0].Step + " " + byKind[events.ToolResult][0].Session + " " + byKind[events.ToolResult][0].Agent, "p s claude-code"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestEvents_TenantsDiffer(t *testing.T) {
	data := []byte(u + `"uuid":"p","message":{"content":"go"}}`)
	ids := map[string]bool{}
	for _, tenant := range []string{"a", "b"} {
		for e, err := range claude.Events(t.Context(), bytes.NewReader(data), ingest.Options{File: "f", Tenant: tenant}) {
			if err != nil {
				t.Fatal(err)
			}
			if ids[e.ID] || e.Tenant != tenant {
				t.Errorf("%s: id %s of tenant %q is shared", e.Type, e.ID, e.Tenant)
			}
			ids[e.ID] = true
		}
	}
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte(u + `"uuid":"p","message":{"content":"go"}}` + "\n" + a + `"uuid":"1","message":{"id":"m","content":[{"type":"tool_use","id":"t","name":"Task","input":{}}],"usage":{"input_tokens":1}}}`))
	f.Add([]byte(u + `"uuid":"3","message":{"content":[{"type":"tool_result","tool_use_id":"t","content":"1","is_error":true}]},"toolUseResult":{"agentId":"x"}}`))
	f.Add([]byte(`{"type":"progress","sessionId":"s","timestamp":"2026-01-01T00:00:02Z","uuid":"2","parentToolUseID":"t","data":{"type":"agent_progress","agentId":"ag"}}`))
	f.Add([]byte(`{"type":"system","subtype":"api_error","error":{"a":[1]},"retryInMs":1e300}` + "\n" + `{"type":"file-history-snapshot","snapshot":{"messageId":"x"}}`))
	f.Add([]byte("\xef\xbb\xbf{}\n\x00\n[[[[\n{\"type\":\"user\",\"message\":{\"content\":\"\\ud800\xff\"}}\n{}"))
	f.Fuzz(func(t *testing.T, data []byte) { ingesttest.Stable(t, claude.Events, data) })
}

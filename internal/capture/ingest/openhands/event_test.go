package openhands_test

import (
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/ingesttest"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/openhands"
	"github.com/hooktrail/hooktrail/pkg/events"
)

var conversation = []string{
	`{"id":"e0","timestamp":"2026-06-16T05:39:18.8","source":"agent","kind":"SystemPromptEvent","system_prompt":{"type":"text","text":"You are"},"tools":[]}`,
	`{"id":"e1","timestamp":"2026-06-16T05:39:19","source":"user","kind":"MessageEvent","llm_message":{"role":"user","content":[{"type":"text","text":"go"}]}}`,
	`{"id":"e2","timestamp":"2026-06-16T05:39:20","source":"environment","kind":"ConversationStateUpdateEvent","key":"stats","value":{"usage_to_metrics":{"default":{"accumulated_token_usage":{"prompt_tokens":100,"completion_tokens":20,"cache_read_tokens":30}}}}}`,
	`{"id":"e3","timestamp":"2026-06-16T05:39:21","source":"agent","kind":"ActionEvent","thought":[{"type":"text","text":"look"}],"action":{"command":"ls","kind":"TerminalAction"},"tool_name":"terminal","tool_call_id":"c1","llm_response_id":"r1"}`,
	`{"id":"e4","timestamp":"2026-06-16T05:39:21","source":"agent","kind":"ActionEvent","thought":[],"action":null,"tool_name":"file_editor","tool_call_id":"c2","tool_call":{"arguments":"{\"path\":7}"},"llm_response_id":"r1"}`,
	`{"id":"e5","timestamp":"2026-06-16T05:39:22","source":"environment","kind":"ObservationEvent","tool_name":"terminal","tool_call_id":"c1","action_id":"e3","observation":{"content":[{"type":"text","text":"no"}],"is_error":false,"exit_code":2}}`,
	`{"id":"e6","timestamp":"2026-06-16T05:39:22","source":"agent","kind":"AgentErrorEvent","tool_name":"file_editor","tool_call_id":"c2","error":"bad path"}`,
	`{"id":"e7","timestamp":"2026-06-16T05:39:23","source":"agent","kind":"ActionEvent","thought":[],"action":{"command":"rm -rf /"},"tool_name":"terminal","tool_call_id":"c3","llm_response_id":"r2"}`,
	`{"id":"e8","timestamp":"2026-06-16T05:39:23","source":"user","kind":"UserRejectObservation","tool_name":"terminal","tool_call_id":"c3","action_id":"e7","rejection_reason":"no"}`,
	`{"id":"e9","timestamp":"2026-06-16T05:39:24","source":"environment","kind":"ObservationEvent","tool_name":"terminal","tool_call_id":"gone","action_id":"gone","observation":{"content":[],"is_error":true}}`,
	`{"id":"e10","timestamp":"2026-06-16T05:39:24","source":"environment","kind":"Condensation","summary":"s"}`,
	`{"id":"e11","timestamp":"2026-06-16T05:39:24","source":"environment","kind":"ConversationErrorEvent","code":"X","detail":"boom"}`,
	`{"id":"e12","timestamp":"2026-06-16T05:39:25","source":"agent","kind":"ActionEvent","action":{"message":"all done"},"tool_name":"finish","tool_call_id":"c4","llm_response_id":"r3"}`,
	`{"id":"e13","timestamp":"2026-06-16T05:39:25","source":"environment","kind":"ObservationEvent","tool_name":"finish","tool_call_id":"c4","action_id":"e12","observation":{"content":[],"is_error":false}}`,
}

func TestEvents_Conversation(t *testing.T) {
	want := []string{
		"run.started", "message.created", "prompt.submit", "custom ConversationStateUpdateEvent", "response.completed",
		"tool.before c1 terminal", "tool.before c2 file_editor", "tool.result c1 error", "tool.result c2 error", "step.finished e1",
		"response.completed", "tool.before c3 terminal", "tool.result c3 denied rejected", "tool.result gone error",
		"compact.before", "error", "step.finished e7", "response.completed", "tool.before c4 finish", "tool.result c4 success",
		"step.finished e12", "run.finished true finished",
	}
	for name, in := range map[string]string{
		"lines": strings.Join(conversation, "\n"), "list": "[" + strings.Join(conversation, ",\n") + "]",
	} {
		if !openhands.Detect([]byte(in), "events.jsonl") {
			t.Errorf("%s are not taken for what they are", name)
		}
		ingesttest.Compare(t, openhands.Events, in, brief, want, nil)
		list, _ := ingesttest.Read(t, openhands.Events, []byte(in), ingest.Options{File: "f"})
		end := ingesttest.Payload[events.RunFinishedData](t, list[len(list)-1])
		if used := (events.Tokens{Input: 70, Output: 20, CacheRead: 30}); *end.TokensUsed != used || end.OutputSummary != "all done" {
			t.Errorf("%s: got %+v, %+v", name, end, end.TokensUsed)
		}
	}
}

func TestEvents_ConversationGrows(t *testing.T) {
	var versions [][]byte
	for n := 1; n <= len(conversation); n += 2 {
		versions = append(versions, []byte(strings.Join(conversation[:n], "\n")+"\n"))
	}
	ingesttest.Grow(t, openhands.Events, "events.jsonl", versions)
}

func TestEvents_ConversationWithBrokenLine(t *testing.T) {
	in := conversation[1] + "\n{\"id\":\n" + conversation[3]
	list, bad := ingesttest.Read(t, openhands.Events, []byte(in), ingest.Options{File: "f"})
	if len(bad) != 1 || bad[0].Error() != "f:2:6: not JSON: the line ends early" || len(list) != 6 {
		t.Errorf("got %d events and %v", len(list), bad)
	}
}

// An edit that the tool refused is a failure, and its text elsewhere is not.
func TestEvents_RefusedEdit(t *testing.T) {
	for content, want := range map[string]string{
		"Your proposed edit has introduced new syntax error(s). Please understand the errors.": "error",
		"The log says: Your proposed edit has introduced new syntax error(s).":                 "success",
	} {
		data := `{"instance_id":"i","instruction":"go","history":[{"id":1,"source":"agent","action":"edit","args":{"path":"a.py"}},` +
			`{"id":2,"cause":1,"source":"agent","observation":"edit","content":"` + content + `"}]}`
		list, _ := ingesttest.Read(t, openhands.Events, []byte(data), ingest.Options{File: "f.json"})
		for _, e := range list {
			if e.Kind() == events.ToolResult && !strings.HasPrefix(ingesttest.Outcome(t, e), want) {
				t.Errorf("%q: got %s, want %s", content, ingesttest.Outcome(t, e), want)
			}
		}
	}
}

package onesession

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/hooktrail/hooktrail/internal/capture/agents"
	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/codex"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/otlp"
	"github.com/hooktrail/hooktrail/internal/evidence/runtree"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// A person refuses a command in Codex, which then runs no hook. Its transcript and its logs each say
// so, in any order.
//
//guarantee:one-session
func TestTrace_RefusedInCodex(t *testing.T) {
	tool, err := agents.Named("codex")
	if err != nil {
		t.Fatal(err)
	}
	var live []events.Event
	for _, f := range []fields{
		{"hook_event_name": "PreToolUse", "tool_use_id": "call_0"}, {"hook_event_name": "PermissionRequest"},
	} {
		f["session_id"], f["turn_id"], f["tool_name"], f["tool_input"] = session, prompt, "Bash", fields{"command": "rm x"}
		p, err := tool.Parse([]byte(line(f)), agents.Context{Tenant: "acme", Now: began, CallIDs: agents.NewCallIDs()})
		if err != nil {
			t.Fatal(err)
		}
		live = append(live, p.Events...)
	}
	arguments, err := json.Marshal(`{"cmd":"rm x"}`)
	if err != nil {
		t.Fatal(err)
	}
	const stamp = `{"timestamp":"2026-11-23T13:00:00Z","type":`
	rollout := strings.Join([]string{
		stamp + `"session_meta","payload":{"id":"` + session + `"}}`,
		stamp + `"event_msg","payload":{"type":"task_started","turn_id":"` + prompt + `"}}`,
		stamp + `"response_item","payload":{"type":"function_call","name":"exec_command","arguments":` + string(arguments) + `,"call_id":"call_0"}}`,
		stamp + `"response_item","payload":{"type":"function_call_output","call_id":"call_0","output":"exec command rejected by user"}}`,
	}, "\n")
	var written, sent []events.Event
	for e, err := range codex.Events(t.Context(), strings.NewReader(rollout), ingest.Options{Tenant: "acme", File: "f.jsonl"}) {
		if err != nil {
			t.Fatal(err)
		}
		written = append(written, e)
	}
	var pairs []string
	for name, v := range map[string]string{
		"event.name": "codex.tool_decision", "conversation.id": session, "tool_name": "exec_command", "call_id": "call_0", "decision": "denied", "source": "user",
	} {
		pairs = append(pairs, fmt.Sprintf(`{"key":%q,"value":{"stringValue":%q}}`, name, v))
	}
	body := `{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"timeUnixNano":"1795438800000000000","attributes":[` + strings.Join(pairs, ",") + `]}]}]}]}`
	for e, err := range otlp.Events(otlp.Logs, otlp.JSON, []byte(body), otlp.Options{Tenant: "acme", Now: began}) {
		if err != nil {
			t.Fatal(err)
		}
		sent = append(sent, e)
	}
	for name, parts := range map[string][][]events.Event{
		"hooks": {live}, "hooks and transcript": {live, written}, "transcript and hooks": {written, live}, "hooks and logs": {live, sent},
		"logs": {sent}, "all": {sent, written, live},
	} {
		fold := runtree.Fold{Tenant: "acme"}
		for _, list := range parts {
			for _, e := range list {
				fold.Add(e)
			}
		}
		tr := fold.Trace(session)
		got := fmt.Sprint(tr.ToolCalls, " calls, ", tr.Denied, " denied, ", tr.Unanswered, " open, ", tr.ToolErrors, " failed, by ", tr.Steps[0].Rows[0].DeniedBy)
		want := "1 calls, 1 denied, 0 open, 0 failed, by user"
		if name == "hooks" {
			want = "1 calls, 0 denied, 1 open, 0 failed, by "
		}
		if got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

package onesession

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/agents"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/otlp"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// reported returns the events of the logs that the agent sends with OpenTelemetry.
func reported(tb testing.TB, agent string, shift time.Duration) (list []events.Event) {
	tb.Helper()
	records := telemetry[agent]
	if records == nil {
		return nil
	}
	var all []any
	at := began.Add(shift)
	for _, attributes := range records() {
		var pairs []any
		for name, v := range attributes {
			pairs = append(pairs, fields{"key": name, "value": fields{"stringValue": fmt.Sprint(v)}})
		}
		all = append(all, fields{"timeUnixNano": fmt.Sprint(at.UnixNano()), "attributes": pairs})
		at = at.Add(time.Second)
	}
	service := fields{"key": "service.name", "value": fields{"stringValue": agent}}
	body := line(fields{"resourceLogs": []any{fields{
		"resource": fields{"attributes": []any{service}}, "scopeLogs": []any{fields{"logRecords": all}},
	}}})
	for e, err := range otlp.Events(otlp.Logs, otlp.JSON, []byte(body), otlp.Options{Tenant: "acme", Now: began, CallIDs: agents.NewCallIDs()}) {
		if err != nil {
			tb.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}

var telemetry = map[string]func() []fields{
	"claude-code": func() []fields {
		record := func(name string, f fields) fields {
			f["event.name"], f["session.id"], f["prompt.id"] = "claude_code."+name, session, prompt
			return f
		}
		list := []fields{record("user_prompt", fields{"prompt": "<REDACTED>"})}
		for _, c := range calls {
			list = append(list, record("api_request", fields{"model": "opus", "input_tokens": 100, "output_tokens": 10}))
			call := func(name string, f fields) {
				f["tool_name"], f["tool_use_id"] = "Bash", c.id
				list = append(list, record(name, f))
			}
			if c.denied {
				call("tool_decision", fields{"decision": "reject", "source": "hook"})
				continue
			}
			call("tool_decision", fields{"decision": "accept", "source": "config"})
			call("tool_result", fields{"success": c.exit == 0, "duration_ms": 12})
		}
		return append(list, record("api_request", fields{"model": "opus", "input_tokens": 100, "output_tokens": 10}))
	},
	"codex": func() []fields {
		record := func(name string, f fields) fields {
			f["event.name"], f["conversation.id"] = "codex."+name, session
			return f
		}
		answer := func() fields {
			return record("sse_event", fields{"event.kind": "response.completed", "input_token_count": 100, "output_token_count": 10})
		}
		list := []fields{record("conversation_starts", fields{"model": "m"}), record("user_prompt", fields{"prompt": "go"})}
		for _, c := range calls {
			list = append(list, answer())
			if !c.denied { // Codex reports no call that a hook denied
				list = append(list, record("tool_decision", fields{"tool_name": "exec_command", "call_id": c.id, "decision": "approved"}),
					record("tool_result", fields{"tool_name": "exec_command", "call_id": c.id, "success": true}))
			}
		}
		return append(list, answer())
	},
	"gemini-cli": func() []fields {
		record := func(name string, f fields) fields {
			f["event.name"], f["session.id"] = "gemini_cli."+name, session
			return f
		}
		answer := func() fields {
			return record("api_response", fields{"input_token_count": 100, "output_token_count": 10})
		}
		list := []fields{record("config", fields{"model": "flash"}), record("user_prompt", fields{"prompt": "go"})}
		for _, c := range calls {
			call := fields{"function_name": "run_shell_command", "function_args": strings.TrimSpace(line(fields{"command": c.command})), "success": !c.denied}
			if c.denied {
				call["error"] = "Tool execution blocked: " + reason
			}
			list = append(list, answer(), record("tool_call", call))
		}
		return append(list, answer())
	},
}

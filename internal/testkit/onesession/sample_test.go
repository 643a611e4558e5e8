package onesession

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/agents"
	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/claude"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/codex"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/gemini"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

const (
	session = "5e6c1d2a-7b1f-4c55-9a64-0f6b3c2d9e71"
	prompt  = "a1b2c3d4-7b1f-4c55-9a64-0f6b3c2d9e71"
	reason  = "no DENYME"
)

var began = time.Date(2026, 11, 23, 13, 0, 0, 0, time.UTC)

// sampleCall is a call of the session. Two calls are equal.
type sampleCall struct {
	id, command, output string
	exit                int
	denied              bool
}

var calls = []sampleCall{
	{id: "call_0", command: "echo hello", output: "hello"},
	{id: "call_1", command: "cat /none", output: "cat: /none: No such file or directory", exit: 1},
	{id: "call_2", command: "touch DENYME", denied: true},
	{id: "call_3", command: "echo hello", output: "hello"},
}

// fields are the members of a JSON object.
type fields = map[string]any

func line(f fields) string {
	text, err := json.Marshal(f)
	if err != nil {
		panic(err)
	}
	return string(text) + "\n"
}

// sample has what an agent sends to its hooks and writes into its transcript.
type sample struct {
	hooks  func(at time.Time) []fields // in their order, one each second
	lines  func(at time.Time) string
	events func(context.Context, io.Reader, ingest.Options) iter.Seq2[events.Event, error]
	tool   string // name of the calls
}

var samples = map[string]sample{
	"claude-code": {claudeHooks("prompt_id"), claudeLines, claude.Events, "Bash"},
	"codex":       {claudeHooks("turn_id"), codexLines, codex.Events, "Bash"},
	"gemini-cli":  {geminiHooks, geminiLines, gemini.Events, "run_shell_command"},
	"copilot-cli": {copilotHooks, copilotLines, agents.CopilotEvents, "bash"},
}

func claudeHooks(step string) func(time.Time) []fields {
	return func(time.Time) []fields {
		hook := func(event string, f fields) fields {
			f["hook_event_name"], f["session_id"] = event, session
			if event != "SessionStart" && event != "SessionEnd" {
				f[step] = prompt
			}
			return f
		}
		list := []fields{hook("SessionStart", fields{"source": "startup"}), hook("UserPromptSubmit", fields{"prompt": "go"})}
		for _, c := range calls {
			call := func(event string, f fields) {
				f["tool_name"], f["tool_use_id"], f["tool_input"] = "Bash", c.id, fields{"command": c.command}
				list = append(list, hook(event, f))
			}
			call("PreToolUse", fields{})
			switch {
			case c.denied:
			case step == "turn_id": // Codex
				call("PostToolUse", fields{"tool_response": c.output + "\n"})
			case c.exit != 0:
				call("PostToolUseFailure", fields{"error": fmt.Sprintf("Exit code %d\n%s", c.exit, c.output)})
			default:
				call("PostToolUse", fields{"tool_response": fields{"stdout": c.output, "interrupted": false}})
			}
		}
		return append(list, hook("Stop", fields{"last_assistant_message": "done"}), hook("SessionEnd", fields{"reason": "other"}))
	}
}

func claudeLines(at time.Time) string {
	var b strings.Builder
	n := 0
	add := func(f fields) {
		f["sessionId"], f["uuid"], f["timestamp"] = session, fmt.Sprint("u", n), at.Format(time.RFC3339Nano)
		b.WriteString(line(f))
		at, n = at.Add(time.Second), n+1
	}
	user := func(content any) {
		add(fields{"type": "user", "promptId": prompt, "message": fields{"role": "user", "content": content}})
	}
	assistant := func(block fields, stop string) {
		add(fields{"type": "assistant", "message": fields{
			"id": fmt.Sprint("msg_", n), "role": "assistant", "model": "opus", "content": []any{block}, "stop_reason": stop,
			"usage": fields{"input_tokens": 100, "output_tokens": 10},
		}})
	}
	user("go")
	for _, c := range calls {
		assistant(fields{"type": "tool_use", "id": c.id, "name": "Bash", "input": fields{"command": c.command}}, "tool_use")
		result := fields{"type": "tool_result", "tool_use_id": c.id, "content": c.output}
		switch {
		case c.denied:
			result["content"], result["is_error"] = "PreToolUse:Bash hook error: "+reason, true
		case c.exit != 0:
			result["content"], result["is_error"] = fmt.Sprintf("Exit code %d\n%s", c.exit, c.output), true
		}
		user([]any{result})
	}
	assistant(fields{"type": "text", "text": "done"}, "end_turn")
	return b.String()
}

func codexLines(at time.Time) string {
	var b strings.Builder
	add := func(typ string, payload fields) {
		b.WriteString(line(fields{"timestamp": at.Format(time.RFC3339Nano), "type": typ, "payload": payload}))
		at = at.Add(time.Second)
	}
	spent := 0
	spend := func() {
		spent++
		usage := func(n int) fields { return fields{"input_tokens": 100 * n, "output_tokens": 10 * n} }
		add("event_msg", fields{"type": "token_count", "info": fields{"total_token_usage": usage(spent), "last_token_usage": usage(1)}})
	}
	add("session_meta", fields{"id": session, "cli_version": "0.169.0"})
	add("event_msg", fields{"type": "task_started", "turn_id": prompt})
	add("event_msg", fields{"type": "item_completed", "turn_id": prompt, "item": fields{"type": "UserMessage", "content": []any{fields{"type": "text", "text": "go"}}}})
	for _, c := range calls {
		add("response_item", fields{"type": "function_call", "name": "exec_command", "call_id": c.id, "arguments": strings.TrimSpace(line(fields{"cmd": c.command}))})
		output := fmt.Sprintf("Chunk ID: 46ad5a\nWall time: 0.0000 seconds\nProcess exited with code %d\nOriginal token count: 2\nOutput:\n%s\n", c.exit, c.output)
		if c.denied {
			output = "Command blocked by PreToolUse hook: " + reason + ". Command: " + c.command
		}
		add("response_item", fields{"type": "function_call_output", "call_id": c.id, "output": output})
		spend()
	}
	spend()
	add("event_msg", fields{"type": "task_complete", "turn_id": prompt, "last_agent_message": "done"})
	return b.String()
}

func geminiHooks(at time.Time) []fields {
	var list []fields
	hook := func(event string, f fields) {
		f["hook_event_name"], f["session_id"], f["timestamp"] = event, session, at.Format("2006-01-02T15:04:05.000Z")
		list = append(list, f)
		at = at.Add(time.Second)
	}
	hook("SessionStart", fields{"source": "startup"})
	hook("BeforeAgent", fields{"prompt": "go"})
	for _, c := range calls {
		hook("PreCompress", fields{"trigger": "auto"})
		call := fields{"tool_name": "run_shell_command", "tool_input": fields{"command": c.command}}
		hook("BeforeTool", call)
		if !c.denied {
			hook("AfterTool", fields{"tool_name": call["tool_name"], "tool_input": call["tool_input"], "tool_response": fields{"llmContent": geminiOutput(c)}})
		}
	}
	hook("AfterAgent", fields{"prompt": "go", "prompt_response": "done"})
	hook("SessionEnd", fields{"reason": "exit"})
	return list
}

func geminiOutput(c sampleCall) string {
	exit := ""
	if c.exit != 0 {
		exit = fmt.Sprintf("Exit Code: %d\n", c.exit)
	}
	return "<untrusted_context>\nOutput: " + c.output + "\n" + exit + "Process Group PGID: 9588\n</untrusted_context>"
}

func geminiLines(at time.Time) string {
	var b strings.Builder
	n := 0
	add := func(f fields) {
		f["id"], f["timestamp"] = fmt.Sprint("m", n), at.Format(time.RFC3339Nano)
		b.WriteString(line(f))
		at, n = at.Add(time.Second), n+1
	}
	b.WriteString(line(fields{"sessionId": session, "projectHash": "h", "startTime": at.Format(time.RFC3339Nano), "kind": "main"}))
	add(fields{"type": "user", "content": []any{fields{"text": "go"}}})
	tokens := fields{"input": 100, "output": 10, "cached": 0, "thoughts": 0, "tool": 0, "total": 110}
	for _, c := range calls {
		status, response := "success", fields{"output": geminiOutput(c)}
		if c.denied {
			status, response = "error", fields{"error": "Tool execution blocked: " + reason}
		}
		add(fields{"type": "gemini", "content": "", "model": "flash", "tokens": tokens, "toolCalls": []any{fields{
			"id": "run_shell_command__" + c.id, "name": "run_shell_command", "args": fields{"command": c.command}, "status": status,
			"timestamp": at.Format(time.RFC3339Nano), "result": []any{fields{"functionResponse": fields{"response": response}}},
		}}})
	}
	add(fields{"type": "gemini", "content": "done", "model": "flash", "tokens": tokens})
	return b.String()
}

func copilotHooks(at time.Time) []fields {
	var list []fields
	hook := func(event string, f fields) {
		f["hookName"], f["sessionId"], f["timestamp"] = event, session, at.UnixMilli()
		list = append(list, f)
		at = at.Add(time.Second)
	}
	hook("sessionStart", fields{"source": "new", "initialPrompt": "go"})
	hook("userPromptSubmitted", fields{"prompt": "go"})
	for _, c := range calls {
		args := fields{"command": c.command}
		hook("preToolUse", fields{"toolName": "bash", "toolArgs": args})
		if !c.denied {
			text := fmt.Sprintf("%s\n<shellId: 0 completed with exit code %d>", c.output, c.exit)
			hook("postToolUse", fields{"toolName": "bash", "toolArgs": args, "toolResult": fields{"textResultForLlm": text, "resultType": "success"}})
		}
	}
	hook("agentStop", fields{"stopReason": "end_turn"})
	hook("sessionEnd", fields{"reason": "complete"})
	return list
}

func copilotLines(at time.Time) string {
	var b strings.Builder
	n := 0
	add := func(typ string, data fields) {
		b.WriteString(line(fields{"type": typ, "id": fmt.Sprint("e", n), "timestamp": at.Format(time.RFC3339Nano), "parentId": nil, "data": data}))
		at, n = at.Add(time.Second), n+1
	}
	answer := func(content string) {
		add("session.usage_record", fields{"usage": fields{"model": "m", "inputTokens": 100, "outputTokens": 10, "apiCallId": fmt.Sprint("c", n)}})
		add("assistant.message", fields{"messageId": fmt.Sprint("m", n), "content": content})
	}
	add("session.start", fields{"sessionId": session, "copilotVersion": "1.0.102", "selectedModel": "m"})
	add("user.message", fields{"content": "go"})
	for _, c := range calls {
		answer("")
		add("tool.execution_start", fields{"toolCallId": c.id, "toolName": "bash", "arguments": fields{"command": c.command}})
		done := fields{"toolCallId": c.id, "success": !c.denied}
		if c.denied {
			done["error"] = fields{"message": "Denied by preToolUse hook: " + reason, "code": "denied"}
		} else {
			done["shellExecution"] = fields{"exitCode": c.exit}
			done["result"] = fields{"content": fmt.Sprintf("%s\n<shellId: 0 completed with exit code %d>", c.output, c.exit)}
		}
		add("tool.execution_complete", done)
	}
	answer("done")
	add("session.shutdown", fields{"shutdownType": "routine"})
	return b.String()
}

// hooked returns the events of the hooks, of which one denies a call.
func hooked(tb testing.TB, agent string) (list []events.Event) {
	tb.Helper()
	tool, err := agents.Named(agent)
	if err != nil {
		tb.Fatal(err)
	}
	r := hooks.NewRegistry(hooks.Options{})
	hooks.ToolBefore.On(r, func(_ context.Context, _ hooks.Meta, c hooks.ToolCall) (*hooks.Decision[hooks.ToolPatch], error) {
		if strings.Contains(string(c.Args), "DENYME") {
			return &hooks.Decision[hooks.ToolPatch]{Verdict: hooks.Deny, Reason: reason}, nil
		}
		return nil, nil //nolint:nilnil // no opinion
	})
	c := agents.Context{Tenant: "acme", Now: began, CallIDs: agents.NewCallIDs(), IDKey: []byte("secret")}
	for _, f := range samples[agent].hooks(began) {
		event, _ := f["hookName"].(string)
		c.Event = event
		p, err := tool.Parse([]byte(line(f)), c)
		if err != nil {
			tb.Fatal(err)
		}
		all := p.Events
		if p.Decides {
			out, err := r.DispatchDocument(tb.Context(), p.Document)
			if err != nil {
				tb.Fatal(err)
			}
			all = p.Decided(out)
		}
		list = append(list, all...)
		c.Now = c.Now.Add(time.Second)
	}
	return list
}

// imported returns the events of the transcript, whose times differ from those of the hooks by shift.
func imported(tb testing.TB, agent string, shift time.Duration) (list []events.Event) {
	tb.Helper()
	s := samples[agent]
	for e, err := range s.events(tb.Context(), strings.NewReader(s.lines(began.Add(shift))), ingest.Options{Tenant: "acme", File: "f.jsonl"}) {
		if err != nil {
			tb.Fatal(err)
		}
		list = append(list, e)
	}
	return list
}

package otlp_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/collector/pdata/pcommon"

	"github.com/hooktrail/hooktrail/internal/capture/ingest/otlp"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func traceID(text string) (id pcommon.TraceID) {
	if raw, err := hex.DecodeString(text); err == nil {
		copy(id[:], raw)
	}
	return id
}

func spanID(text string) (id pcommon.SpanID) {
	if raw, err := hex.DecodeString(text); err == nil {
		copy(id[:], raw)
	}
	return id
}

func stamp(t time.Time) pcommon.Timestamp { return pcommon.NewTimestampFromTime(t) }

// record returns a log record. pairs are the names and values of its attributes.
func record(body string, pairs ...string) string {
	var attributes []string
	for i := 0; i < len(pairs); i += 2 {
		attributes = append(attributes, fmt.Sprintf(`{"key":%q,"value":{"stringValue":%q}}`, pairs[i], pairs[i+1]))
	}
	return fmt.Sprintf(`{"timeUnixNano":"1746026930220515904","body":{"stringValue":%q},"attributes":[%s]}`, body, strings.Join(attributes, ","))
}

func logs(service string, records ...string) []byte {
	return []byte(`{"resourceLogs":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"` + service + `"}}]},"scopeLogs":[{"logRecords":[` + strings.Join(records, ",") + `]}]}]}`)
}

func brief(t *testing.T, e events.Event) string {
	t.Helper()
	var p struct {
		Prompt, Tool, Status, Verdict, Name, Role string
		By                                        string `json:"denied_by"`
		End                                       string `json:"run_status"`
		Reason                                    string
		Cost                                      *events.Cost
		Tokens                                    *events.Tokens `json:"tokens_used"`
		Error                                     *events.Failure
		Raw                                       json.RawMessage
	}
	if err := json.Unmarshal(e.Data, &p); err != nil {
		t.Fatal(err)
	}
	s := fmt.Sprint(e.Run, " ", e.Kind(), " ", p.Prompt, p.Tool, p.Name, p.Role, " ", p.Status, p.Verdict, " ", p.By, p.End, " ", p.Reason)
	if p.Tokens != nil {
		s += fmt.Sprint(*p.Tokens)
	}
	if p.Cost != nil {
		s += fmt.Sprint(" $", p.Cost.USD)
	}
	if p.Error != nil {
		s += " " + p.Error.Message + " " + p.Error.Class
	}
	if len(p.Raw) > 0 {
		s += " raw"
	}
	return strings.Join(strings.Fields(s), " ")
}

// The log records of supported agents belong to the runs of their sessions.
func TestEvents_ToolLogs(t *testing.T) {
	for name, tt := range map[string]struct {
		service string
		records []string
		want    []string
	}{
		"Claude": {"claude-code", []string{
			record("claude_code.user_prompt", "session.id", "s1", "event.name", "user_prompt", "prompt", "go"),
			record("claude_code.tool_decision", "session.id", "s1", "tool_name", "Bash", "tool_use_id", "c1", "decision", "accept"),
			record("claude_code.tool_result", "session.id", "s1", "tool_name", "Bash", "tool_use_id", "c1", "success", "false", "error", "exit 1", "duration_ms", "12"),
			record("claude_code.tool_decision", "session.id", "s1", "tool_name", "Write", "decision", "reject"),
			record("claude_code.tool_decision", "session.id", "s1", "tool_name", "Write", "decision", "accept"),
			record("claude_code.api_request", "session.id", "s1", "model", "m", "input_tokens", "5", "output_tokens", "6", "cache_read_tokens", "7", "cache_creation_tokens", "8"),
			record("claude_code.api_error", "session.id", "s1", "error", "overloaded", "status_code", "529"),
			record("claude_code.new_thing", "session.id", "s1"),
			record("claude_code.user_prompt"),
		}, []string{
			"s1 prompt.submit go raw", "s1 tool.before Bash allow raw", "s1 tool.result Bash error exit 1 raw", "s1 tool.before Write deny raw",
			"s1 custom tool_decision raw", "s1 response.completed {5 6 8 7} raw", "s1 error overloaded 529 raw", "s1 custom new_thing raw", "custom user_prompt raw",
		}},
		"Gemini": {"gemini-cli", []string{
			record("User prompt.", "session.id", "g1", "event.name", "gemini_cli.user_prompt", "prompt", "go"),
			record("Tool call", "session.id", "g1", "event.name", "gemini_cli.tool_call", "function_name", "run_shell_command", "function_args", `{"command":"ls"}`, "success", "true"),
			record("Tool call", "session.id", "g1", "event.name", "gemini_cli.tool_call", "function_name", "write_file", "decision", "reject", "success", "false"),
			record("API", "session.id", "g1", "event.name", "gemini_cli.api_response", "input_token_count", "4", "output_token_count", "2", "thoughts_token_count", "4", "cached_content_token_count", "3"),
			record("Conversation finished.", "session.id", "g1", "event.name", "gemini_cli.conversation_finished"),
		}, []string{
			"g1 prompt.submit go raw", "g1 tool.before run_shell_command", "g1 tool.result run_shell_command success raw", "g1 tool.before write_file", "g1 tool.result write_file denied user raw", "g1 response.completed {1 6 0 3} raw", "g1 run.finished unknown idle raw",
		}},
		"Codex": {"codex_cli_rs", []string{
			record("", "conversation.id", "x1", "event.name", "codex.conversation_starts", "model", "m"),
			record("", "conversation.id", "x1", "event.name", "codex.tool_decision", "tool_name", "shell", "call_id", "k", "decision", "denied"),
			record("", "conversation.id", "x1", "event.name", "codex.tool_result", "tool_name", "shell", "call_id", "l", "arguments", `{"command":["ls"]}`, "success", "true", "output", "a"),
			record("", "conversation.id", "x1", "event.name", "codex.sse_event", "event.kind", "response.completed", "input_token_count", "4", "output_token_count", "5"),
			record("", "conversation.id", "x1", "event.name", "codex.sse_event", "event.kind", "response.created"),
		}, []string{
			"x1 run.started raw", "x1 tool.before shell deny raw", "x1 tool.result shell success raw", "x1 response.completed {4 5 0 0} raw", "x1 custom sse_event raw",
		}},
		"Qwen": {"qwen-code", []string{
			record("Session started.", "session.id", "q1", "event.name", "session.start"),
			record("Tool call", "session.id", "q1", "event.name", "qwen-code.tool_call", "call_id", "c", "function_name", "write_file", "decision", "reject", "success", "false"),
			record("API", "session.id", "q1", "event.name", "qwen-code.api_response", "input_token_count", "4", "output_token_count", "2"),
			record("Session ended.", "session.id", "q1", "event.name", "session.end"),
		}, []string{
			"q1 run.started raw", "q1 tool.before write_file", "q1 tool.result write_file denied user raw", "q1 response.completed {4 2 0 0} raw",
			"q1 run.finished unknown end of log raw",
		}},
		"refused": {"claude-code", []string{
			record("claude_code.tool_decision", "session.id", "s1", "tool_name", "Bash", "tool_use_id", "c1", "decision", "reject", "source", "user_reject"),
			record("claude_code.tool_decision", "session.id", "s1", "tool_name", "Bash", "tool_use_id", "c2", "decision", "reject", "source", "user_abort"),
			record("claude_code.tool_decision", "session.id", "s1", "tool_name", "Bash", "decision", "reject", "source", "config"),
			record("claude_code.tool_decision", "session.id", "s1", "tool_name", "Bash", "tool_use_id", "c4", "decision", "reject", "source", "hook"),
			record("claude_code.tool_decision", "session.id", "s1", "tool_name", "Bash", "tool_use_id", "c5", "decision", "accept", "source", "config"),
			record("", "conversation.id", "x1", "event.name", "codex.tool_decision", "tool_name", "shell", "call_id", "k", "decision", "denied", "source", "user"),
			record("", "conversation.id", "x1", "event.name", "codex.tool_decision", "tool_name", "shell", "call_id", "l", "decision", "abort", "source", "user"),
		}, []string{
			"s1 tool.before Bash", "s1 tool.result Bash denied user raw", "s1 tool.before Bash", "s1 tool.result Bash interrupted raw",
			"s1 tool.before Bash", "s1 tool.result Bash denied permissions raw", "s1 tool.before Bash deny raw", "s1 tool.before Bash allow raw",
			"x1 tool.before shell", "x1 tool.result shell denied user raw", "x1 tool.before shell", "x1 tool.result shell interrupted raw",
		}},
		"cost": {"claude-code", []string{
			record("claude_code.api_request", "session.id", "s1", "model", "m", "input_tokens", "5", "output_tokens", "6", "cost_usd", "0.0125"),
			record("claude_code.api_request", "session.id", "s1", "model", "m", "input_tokens", "5", "output_tokens", "6", "cost_usd", "0"),
			record("claude_code.api_request", "session.id", "s1", "model", "m", "input_tokens", "5", "output_tokens", "6", "cost_usd", "NaN"),
		}, []string{
			"s1 response.completed {5 6 0 0} $0.0125 raw", "s1 response.completed {5 6 0 0} raw", "s1 response.completed {5 6 0 0} raw",
		}},
		"Other": {"shop", []string{
			record("hello"), record("hi", "event.name", "gen_ai.user.message", "session.id", "o1"), record("hi", "event.name", "gen_ai.choice"),
		}, []string{"custom log raw", "o1 message.created user raw", "custom gen_ai.choice raw"}},
	} {
		t.Run(name, func(t *testing.T) {
			list, rejected := read(t, otlp.Logs, otlp.JSON, logs(tt.service, tt.records...))
			var got []string
			for _, e := range list {
				got = append(got, brief(t, e))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || len(rejected) > 0 {
				t.Errorf("rejected %v (-want +got):\n%s", rejected, diff)
			}
		})
	}
}

// A long resource is a separate event, to which its records refer.
func TestEvents_LongResource(t *testing.T) {
	long := strings.Repeat("r", 10_000)
	list, rejected := read(t, otlp.Logs, otlp.JSON, logs(long, record("a"), record("b"), record("c")))
	if len(list) != 4 || len(rejected) > 0 || !strings.Contains(string(list[0].Data), long) {
		t.Fatalf("got %d events, rejected %v", len(list), rejected)
	}
	var resource struct{ Raw struct{ ID string } }
	if err := json.Unmarshal(list[0].Data, &resource); err != nil {
		t.Fatal(err)
	}
	for _, e := range list[1:] {
		if text := string(e.Data); len(text) > 1000 || !strings.Contains(text, `"resource":{"id":"`+resource.Raw.ID+`"}`) {
			t.Errorf("got %s", text)
		}
	}
	for _, err := range otlp.Events(otlp.Logs, otlp.JSON, logs(long, record("a")), otlp.Options{Tenant: "acme", Now: now}) {
		if err != nil {
			t.Error(err)
		}
		break // the iterator must stop now, or the loop panics
	}
}

// Equal records without a time are different events, and a repeated request gives the
// same events.
func TestEvents_UntimedLogs(t *testing.T) {
	same := `{"body":{"stringValue":"tick"}}`
	first, _ := read(t, otlp.Logs, otlp.JSON, logs("x", same, same))
	second, _ := read(t, otlp.Logs, otlp.JSON, logs("x", same, same))
	if len(first) != 2 || first[0].ID == first[1].ID {
		t.Errorf("got %v, want two events", first)
	}
	if diff := cmp.Diff(first, second); diff != "" {
		t.Errorf("again (-first +second):\n%s", diff)
	}
}

// Events are valid and belong to the tenant. Reading the request again gives the same
// events.
func FuzzEvents(f *testing.F) {
	span := `{"resourceSpans":[{"resource":{"attributes":[]},"scopeSpans":[{"scope":{"name":"x"},"spans":[{"traceId":"ea673708441c2984a54a3e3962d3595f","spanId":{"data":[1,2,3,4,5,6,7,8]},"name":"n","startTimeUnixNano":1,"endTimeUnixNano":"2","attributes":[{"key":"gen_ai.tool.name","value":{"stringValue":"t"}},{"key":"gen_ai.usage.input_tokens","value":{"intValue":9}}],"status":{"code":2}}]}]}]}`
	f.Add(0, false, []byte(span))
	f.Add(1, false, logs("claude-code", record("claude_code.tool_result", "session.id", "s", "tool_name", "Bash")))
	f.Add(0, true, []byte("\x0a\x00"))
	f.Fuzz(func(t *testing.T, signal int, protobuf bool, body []byte) {
		media := otlp.JSON
		if protobuf {
			media = otlp.Protobuf
		}
		first, rejected := read(t, otlp.Signal(signal&1), media, body)
		second, again := read(t, otlp.Signal(signal&1), media, body)
		if diff := cmp.Diff(first, second); diff != "" || len(rejected) != len(again) {
			t.Fatalf("again (-first +second):\n%s", diff)
		}
	})
}

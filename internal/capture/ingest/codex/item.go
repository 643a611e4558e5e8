package codex

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type responseItem struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Namespace string          `json:"namespace"` // such as mcp__server, since 0.150
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	Name      string          `json:"name"`
	Call      string          `json:"call_id"`
	Status    string          `json:"status"`
	Arguments json.RawMessage `json:"arguments"`
	Input     json.RawMessage `json:"input"`
	Action    json.RawMessage `json:"action"`
	Output    json.RawMessage `json:"output"`
	Tools     json.RawMessage `json:"tools"` // tool_search_output
}

func (s *session) item(l *line) {
	var it responseItem
	l.decode(&it)
	switch it.Type {
	case "message":
		s.message(l, it)
	case "reasoning":
		s.run.Within(l.origin)
		s.emitMessage(l, it.ID, "assistant", l.Payload, nil)
	case "function_call":
		s.calls.call(l, it, it.tool(), arguments(it.Arguments), "type", "name", "namespace", "arguments", "call_id")
	case "custom_tool_call":
		s.calls.call(l, it, it.Name, ingest.SingleMember("input", it.Input), "type", "name", "input", "call_id")
	case "tool_search_call":
		s.calls.call(l, it, "tool_search", arguments(it.Arguments), "type", "arguments", "call_id")
	case "tool_search_output":
		s.calls.searched(l, it)
	case "local_shell_call":
		s.calls.call(l, it, "local_shell", it.Action, "type", "action", "call_id")
	case "web_search_call":
		s.calls.webSearch(l, it)
	case "function_call_output", "custom_tool_call_output":
		s.calls.result(l, it)
	default:
		s.custom(l, "response_item."+it.Type)
	}
}

func (it responseItem) tool() string {
	if !strings.HasPrefix(it.Namespace, "mcp__") || strings.HasPrefix(it.Name, it.Namespace) {
		return it.Name
	}
	return strings.TrimSuffix(it.Namespace, "__") + "__" + it.Name
}

func (s *session) message(l *line, it responseItem) {
	if it.Role == "assistant" {
		s.run.Within(l.origin).Answer(ingest.Flatten(it.Content))
	}
	s.emitMessage(l, it.ID, it.Role, it.Content, ingest.Without(l.Payload, "type", "id", "role", "content"))
}

func (s *session) emitMessage(l *line, id, role string, content, others json.RawMessage) {
	s.run.Emit(l.origin, events.MessageCreated, "", events.MessageData{
		Message: cmp.Or(id, l.origin.ID), Role: role, Content: content, Common: raw(others),
	})
}

func arguments(data json.RawMessage) json.RawMessage {
	if text := ingest.Text(data); text != "" && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return data
}

package codex

import (
	"encoding/json"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// responseItem is what the model answered, and what was answered to it.
type responseItem struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	Name      string          `json:"name"`
	Call      string          `json:"call_id"`
	Status    string          `json:"status"`
	Arguments json.RawMessage `json:"arguments"`
	Input     json.RawMessage `json:"input"`
	Action    json.RawMessage `json:"action"`
	Output    json.RawMessage `json:"output"`
}

func (s *session) item(l *line) {
	var it responseItem
	l.decode(&it)
	switch it.Type {
	case "message":
		s.message(l, it)
	case "reasoning":
		s.run.Within(l.place)
		s.said(l, it.ID, "assistant", l.Payload, nil)
	case "function_call":
		s.call(l, it, it.Name, arguments(it.Arguments), "type", "name", "arguments", "call_id")
	case "custom_tool_call":
		s.call(l, it, it.Name, object("input", it.Input), "type", "name", "input", "call_id")
	case "local_shell_call":
		s.call(l, it, "local_shell", it.Action, "type", "action", "call_id")
	case "web_search_call":
		s.webSearch(l, it)
	case "function_call_output", "custom_tool_call_output":
		s.result(l, it)
	default:
		s.custom(l, "response_item."+it.Type)
	}
}

func (s *session) message(l *line, it responseItem) {
	if it.Role == "assistant" {
		s.run.Within(l.place).Answer(ingest.Flatten(it.Content))
	}
	s.said(l, it.ID, it.Role, it.Content, ingest.Rest(l.Payload, "type", "id", "role", "content"))
}

func (s *session) said(l *line, id, role string, content, rest json.RawMessage) {
	if id == "" {
		id = l.place.ID
	}
	s.run.Emit(l.place, events.MessageCreated, "", events.MessageData{
		Message: id, Role: role, Content: content, Common: raw(rest),
	})
}

// call emits a tool call. Told are the members of the item that the event tells.
func (s *session) call(l *line, it responseItem, tool string, args json.RawMessage, told ...string) {
	id := l.callID(it.Call)
	if tool == "" {
		s.custom(l, "response_item."+it.Type)
		return
	}
	if !s.run.Call(l.place, id, events.ToolBeforeData{Tool: tool, Args: args, Common: raw(ingest.Rest(l.Payload, told...))}) {
		s.custom(l, it.Type+".repeated")
		return
	}
	if tool == "spawn_agent" {
		var sub spawn
		lenient(args, &sub)
		s.spawn[id] = sub
	}
}

// webSearch emits a search, which the model's side made: its call and its result
// are one line.
func (s *session) webSearch(l *line, it responseItem) {
	id := l.callID(it.ID)
	if !s.run.Call(l.place, id, events.ToolBeforeData{Tool: "web_search", Args: it.Action}) {
		s.custom(l, it.Type+".repeated")
		return
	}
	if it.Status == "in_progress" || it.Status == "searching" {
		return
	}
	data := events.ToolResultData{Status: events.ToolSuccess, Common: raw(l.Payload)}
	if it.Status == "failed" {
		data.Status, data.Error = events.ToolError, &events.Failure{Message: "the search failed"}
	}
	s.run.Result(l.place, id, data)
}

func (s *session) result(l *line, it responseItem) {
	id := l.callID(it.Call)
	end := s.ends[id]
	delete(s.ends, id)
	end.read(it.Output)
	data := events.ToolResultData{
		Status: events.ToolSuccess, Result: it.Output, ExitCode: end.exit, DurationMS: end.durationMS,
		Common: raw(ingest.Rest(l.Payload, "type", "call_id", "output")),
	}
	if end.failed {
		data.Status = events.ToolError
		data.Error, data.Result = ingest.Failed(end.message, it.Output)
		data.Error.Class = end.class
	}
	if !s.run.Result(l.place, id, data) {
		s.custom(l, it.Type+".repeated")
		return
	}
	if sub, ok := s.spawn[id]; ok {
		delete(s.spawn, id)
		s.spawned(l, id, sub, it.Output)
	}
}

// spawn is a call that starts a sub-agent.
type spawn struct {
	Message string `json:"message"`
	Role    string `json:"agent_type"`
	Model   string `json:"model"`
}

func (s *session) spawned(l *line, call string, sub spawn, output json.RawMessage) {
	var told struct {
		Agent    string `json:"agent_id"`
		Nickname string `json:"nickname"`
	}
	lenient([]byte(ingest.Flatten(output)), &told)
	if told.Agent == "" || !ingest.Usable(told.Agent) {
		return
	}
	s.run.Emit(l.place, events.SubagentStart, call, events.SubagentStartData{
		Subagent: told.Agent, Name: told.Nickname, Model: sub.Model, TaskType: sub.Role, Charter: sub.Message,
	})
}

// arguments returns the arguments of a call, which Codex writes as a text of
// JSON. A text of something else is kept as it is.
func arguments(data json.RawMessage) json.RawMessage {
	if text := ingest.Text(data); text != "" && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	return data
}

// object returns an object of one member, or nothing where that has no value.
func object(name string, value json.RawMessage) json.RawMessage {
	if value == nil {
		return nil
	}
	return append(append(json.RawMessage(`{"`+name+`":`), value...), '}')
}

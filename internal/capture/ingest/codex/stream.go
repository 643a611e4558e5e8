package codex

import (
	"encoding/json"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// streamItem is a part of a turn, as codex exec tells it.
type streamItem struct {
	ID     string    `json:"id"`
	Type   string    `json:"type"`
	Status string    `json:"status"`
	Text   rawObject `json:"text"`

	Command json.RawMessage `json:"command"` // command_execution
	Exit    *int            `json:"exit_code"`
	Output  json.RawMessage `json:"aggregated_output"`

	Changes   json.RawMessage `json:"changes"` // file_change
	Query     json.RawMessage `json:"query"`   // web_search
	Server    string          `json:"server"`  // mcp_tool_call, and tool calls of agents
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Prompt    json.RawMessage `json:"prompt"`
	Result    json.RawMessage `json:"result"`
	Error     rawObject       `json:"error"`
	Message   rawObject       `json:"message"`

	call string // its id as a call, once it was started
}

// stream maps a line of codex exec --json.
func (s *session) stream(l *line) {
	switch l.Type {
	case "thread.started":
		s.thread(l)
	case "turn.started":
		s.turn(l, "")
	case "turn.completed":
		s.turnCompleted(l)
	case "turn.failed":
		var told struct {
			Message rawObject `json:"message"`
		}
		l.Error.decode(&told)
		s.failed(l, told.Message)
		s.run.CloseStep()
		s.inTurn = false
	default:
		s.streamItem(l)
	}
}

// thread begins a session, or goes on with one that the stream was in before.
func (s *session) thread(l *line) {
	if s.run != nil {
		s.run.CloseStep()
	}
	s.inTurn = false
	if s.run == nil || s.run.Session != l.Thread {
		s.total, s.model = events.Tokens{}, ""
		s.begin(l, head{ID: l.Thread})
		return
	}
	s.custom(l, l.Type)
}

// turnCompleted ends a turn with its tokens, which are those of the session so
// far.
func (s *session) turnCompleted(l *line) {
	var total usage
	lenient(l.Usage, &total)
	s.run.Within(l.place).Failure = nil // errors before it were overcome
	if added, ok := s.added(total, total); ok {
		s.run.Spend(added)
		s.run.Emit(l.place, events.ResponseCompleted, "", events.ResponseCompletedData{
			Message: l.place.ID, TokensUsed: &added, Common: raw(l.Usage),
		})
	}
	s.run.CloseStep()
	s.inTurn = false
}

func (s *session) streamItem(l *line) {
	var it streamItem
	lenient(l.Item, &it)
	tool, args := it.asCall()
	switch {
	case tool != "":
		s.streamCall(l, it, tool, args)
	case l.Type == "item.completed" && (it.Type == "agent_message" || it.Type == "reasoning"):
		step := s.run.Within(l.place)
		if it.Type == "agent_message" {
			step.Answer(ingest.Flatten(json.RawMessage(it.Text)))
		}
		s.said(l, it.ID, "assistant", l.Item, nil)
	case l.Type == "item.completed" && it.Type == "error":
		s.fault(l, it.Message, nil)
	default:
		s.custom(l, l.Type+"."+it.Type)
	}
}

// asCall returns the tool and the arguments of an item that is a call.
func (it *streamItem) asCall() (tool string, args json.RawMessage) {
	switch it.Type {
	case "command_execution":
		return "shell", object("command", it.Command)
	case "file_change":
		return "apply_patch", object("changes", it.Changes)
	case "web_search":
		return "web_search", object("query", it.Query)
	case "mcp_tool_call":
		return "mcp__" + it.Server + "__" + it.Tool, it.Arguments
	case "collab_tool_call":
		return it.Tool, object("prompt", it.Prompt)
	}
	return "", nil
}

// streamCall emits the call of an item where it starts, and its result where it
// is completed. Ids of items begin anew with each turn: the line that started
// one makes them the call's own.
func (s *session) streamCall(l *line, it streamItem, tool string, args json.RawMessage) {
	started, ok := s.items[it.ID]
	if !ok {
		started.call = l.callID(it.ID + "@" + l.place.ID)
		s.run.Call(l.place, started.call, events.ToolBeforeData{Tool: tool, Args: args, Common: raw(it.unresolved(l.Item))})
		s.items[it.ID] = started
	}
	if l.Type != "item.completed" {
		return
	}
	delete(s.items, it.ID)
	data := events.ToolResultData{
		Status: events.ToolSuccess, Result: it.result(), ExitCode: it.Exit,
		Common: raw(ingest.Rest(l.Item, "aggregated_output", "result")),
	}
	if it.Status == "failed" || it.Status == "declined" || it.Exit != nil && *it.Exit != 0 {
		data.Status = events.ToolError
		data.Error, data.Result = ingest.Failed(it.complaint(), it.result())
		if it.Status == "declined" {
			data.Error.Class = "rejected"
		}
	}
	s.run.Result(l.place, started.call, data)
}

// unresolved returns what a call keeps of the item: of one that comes with its
// result, the result has it.
func (it *streamItem) unresolved(item json.RawMessage) json.RawMessage {
	if it.Status != "in_progress" {
		return nil
	}
	return item
}

// result returns what the call gave.
func (it *streamItem) result() json.RawMessage {
	if it.Output != nil {
		return it.Output
	}
	return it.Result
}

// complaint returns what the item says of its failure.
func (it *streamItem) complaint() string {
	var told struct {
		Message string `json:"message"`
	}
	it.Error.decode(&told)
	switch {
	case told.Message != "":
		return told.Message
	case it.Output != nil:
		return ingest.Flatten(it.Output)
	}
	return it.Status
}

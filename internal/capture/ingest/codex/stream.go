package codex

import (
	"encoding/json"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type streamItem struct {
	ID     string          `json:"id"`
	Type   string          `json:"type"`
	Status string          `json:"status"`
	Text   json.RawMessage `json:"text"`

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
	Error     json.RawMessage `json:"error"`
	Message   json.RawMessage `json:"message"`
}

type execStream struct {
	session *session
	started map[string]string // ids of open calls, by the id of their item
	latest  string
}

// lineID derives an id from a line and all earlier lines, because two turns can have equal lines.
func (x *execStream) lineID(l *line) string {
	x.latest = x.session.LineID(append([]byte(x.latest), l.text...))
	return x.latest
}

func (x *execStream) read(l *line) {
	switch l.Type {
	case "thread.started":
		x.thread(l)
	case "turn.started":
		x.session.turn(l, "")
	case "turn.completed":
		x.turnCompleted(l)
	case "turn.failed":
		var failure struct {
			Message json.RawMessage `json:"message"`
		}
		lenient(l.Error, &failure)
		x.session.failed(l, failure.Message)
		x.session.run.CloseStep()
		x.session.inTurn = false
	default:
		x.item(l)
	}
}

func (x *execStream) thread(l *line) {
	if x.session.run != nil {
		x.session.cutOff()
		x.session.run.CloseStep()
	}
	x.session.inTurn = false
	if x.session.run == nil || x.session.run.Session != l.Thread {
		x.session.usage, x.session.model = tokenCount{}, ""
		x.session.begin(l, sessionMeta{ID: l.Thread})
		return
	}
	x.session.custom(l, l.Type)
}

// turnCompleted subtracts the previous total, because the line states the total of the whole
// session.
func (x *execStream) turnCompleted(l *line) {
	var total usage
	lenient(l.Usage, &total)
	step := x.session.run.Within(l.origin)
	step.Failure, step.Status = nil, events.StepCompleted // the turn recovered from earlier errors
	if added, ok := x.session.usage.added(total, total); ok {
		x.session.run.Spend(added)
		x.session.run.Emit(l.origin, events.ResponseCompleted, "", events.ResponseCompletedData{
			Message: l.origin.ID, TokensUsed: &added, Common: raw(l.Usage),
		})
	}
	x.session.run.CloseStep()
	x.session.inTurn = false
}

func (x *execStream) item(l *line) {
	var it streamItem
	lenient(l.Item, &it)
	tool, args := it.asCall()
	switch {
	case tool != "":
		x.call(l, it, tool, args)
	case l.Type == "item.completed" && (it.Type == "agent_message" || it.Type == "reasoning"):
		step := x.session.run.Within(l.origin)
		if it.Type == "agent_message" {
			step.Answer(ingest.Flatten(it.Text))
		}
		x.session.emitMessage(l, it.ID, "assistant", l.Item, nil)
	case l.Type == "item.completed" && it.Type == "error":
		x.session.fault(l, it.Message, nil)
	default:
		x.session.custom(l, l.Type+"."+it.Type)
	}
}

func (it *streamItem) asCall() (tool string, args json.RawMessage) {
	switch it.Type {
	case "command_execution":
		return "shell", ingest.SingleMember("command", it.Command)
	case "file_change":
		return "apply_patch", ingest.SingleMember("changes", it.Changes)
	case "web_search":
		return "web_search", ingest.SingleMember("query", it.Query)
	case "mcp_tool_call":
		return "mcp__" + it.Server + "__" + it.Tool, it.Arguments
	case "collab_tool_call":
		return it.Tool, ingest.SingleMember("prompt", it.Prompt)
	}
	return "", nil
}

// call includes the line in the call id, because later turns use the same item ids again.
func (x *execStream) call(l *line, it streamItem, tool string, args json.RawMessage) {
	id, ok := x.started[it.ID]
	if !ok {
		id = l.callID(it.ID + "@" + l.origin.ID)
		before := events.ToolBeforeData{Tool: tool, Args: args}
		if it.Status == "in_progress" {
			before.Raw = l.Item // otherwise the result contains the item
		}
		x.session.run.Call(l.origin, id, before)
		x.started[it.ID] = id
	}
	if l.Type != "item.completed" {
		return
	}
	delete(x.started, it.ID)
	data := events.ToolResultData{
		Status: events.ToolSuccess, Result: it.result(), ExitCode: it.Exit,
		Common: raw(ingest.Without(l.Item, "aggregated_output", "result")),
	}
	if it.Status == "failed" || it.Status == "declined" || it.Exit != nil && *it.Exit != 0 {
		end := ending{message: it.complaint(), exit: it.Exit, server: it.Type == "mcp_tool_call"}
		end.judge(it.complaint())
		end.failed = true
		if it.Status == "declined" {
			end.status, end.by, end.class = events.ToolDenied, events.DeniedByUser, "rejected"
		}
		end.fill(&data, it.result())
	}
	x.session.run.Result(l.origin, id, data)
}

func (it *streamItem) result() json.RawMessage {
	if it.Output != nil {
		return it.Output
	}
	return it.Result
}

func (it *streamItem) complaint() string {
	var failure struct {
		Message string `json:"message"`
	}
	lenient(it.Error, &failure)
	switch {
	case failure.Message != "":
		return failure.Message
	case it.Output != nil:
		return ingest.Flatten(it.Output)
	}
	return it.Status
}

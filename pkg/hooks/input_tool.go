package hooks

import (
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// ToolCall is what [ToolBefore] decides on.
type ToolCall struct {
	ID   string // pairs it with its result
	Tool string // the wire name
	Args JSON
}

// ToolPatch changes a tool call.
type ToolPatch struct {
	Args JSON `json:"args,omitempty"` // all arguments, as they are to be; empty: unchanged
}

// ToolDone is the subject of [ToolResult]: the call that ended.
type ToolDone struct {
	Call     ToolCall
	Duration time.Duration
}

// ToolOutcome is the value of [ToolResult]: how a call ended.
type ToolOutcome struct {
	Status   events.ToolStatus `json:"status"`
	Result   JSON              `json:"result,omitempty"` // of a success
	Error    string            `json:"error,omitempty"`  // of a failure
	Stack    string            `json:"stack,omitempty"`
	Context  string            `json:"additional_context,omitempty"` // what the agent is to know besides
	ExitCode *int              `json:"exit_code,omitempty"`          // of a command
	Suppress bool              `json:"suppress_output,omitempty"`    // do not show the result
}

// ApprovalRequest is what [Approval] decides on: a call that a hook asks about.
type ApprovalRequest struct {
	Call    ToolCall
	Prompt  string   // what to ask
	Options []string // what can be answered
}

// ApprovalPatch tells which option was taken.
type ApprovalPatch struct {
	Selected string `json:"selected,omitempty"`
}

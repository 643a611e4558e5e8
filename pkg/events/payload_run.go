package events

import "encoding/json"

// RunStartedData is the payload of run.started.
type RunStartedData struct {
	RunType      string         `json:"run_type,omitempty"`
	AgentRole    string         `json:"agent_role,omitempty"`
	Title        string         `json:"title,omitempty"`
	InputSummary string         `json:"input_summary,omitempty"`
	Model        string         `json:"model,omitempty"`
	Cwd          string         `json:"cwd,omitempty"`
	Version      string         `json:"version,omitempty"` // version of the engine
	Metadata     map[string]any `json:"metadata,omitempty"`
	Notified
	Common
}

// StepStatus is the state of a step.
type StepStatus string

// The states of a step.
const (
	StepPending   StepStatus = "pending"
	StepRunning   StepStatus = "running"
	StepCompleted StepStatus = "completed"
	StepFailed    StepStatus = "failed"
	StepSkipped   StepStatus = "skipped"
)

// StepFinishedData is the payload of step.finished.
type StepFinishedData struct {
	RunType       string         `json:"run_type,omitempty"`
	AgentRole     string         `json:"agent_role,omitempty"`
	StepStatus    StepStatus     `json:"step_status"`
	InputSummary  string         `json:"input_summary,omitempty"`
	OutputSummary string         `json:"output_summary,omitempty"`
	DurationMS    int64          `json:"duration_ms,omitempty"`
	TokensUsed    *Tokens        `json:"tokens_used,omitempty"`
	ToolCalls     int            `json:"tool_calls,omitempty"`
	ToolErrors    int            `json:"tool_errors,omitempty"`
	Error         *Failure       `json:"error,omitempty"`
	Metadata      map[string]any `json:"metadata,omitempty"` // complexity, partial_success, deferred, work_item, target, severity, …
	Notified
	Common
}

// RunFinishedData is the payload of run.finished. A run can continue afterwards. Its latest
// run.finished is valid.
type RunFinishedData struct {
	RunType       string         `json:"run_type,omitempty"`
	Success       bool           `json:"success"`
	Reason        string         `json:"reason,omitempty"` // why the run ended: completed, aborted, …
	OutputSummary string         `json:"output_summary,omitempty"`
	DurationMS    int64          `json:"duration_ms,omitempty"`
	TokensUsed    *Tokens        `json:"tokens_used,omitempty"`
	Steps         int            `json:"steps,omitempty"`
	ToolCalls     int            `json:"tool_calls,omitempty"`
	ToolErrors    int            `json:"tool_errors,omitempty"`
	Unanswered    int            `json:"unanswered,omitempty"` // tool calls without a result
	Files         []string       `json:"files,omitempty"`      // files that the run changed
	Error         *Failure       `json:"error,omitempty"`
	Metadata      map[string]any `json:"metadata,omitempty"`
	Notified
	Common
}

// StepBeforeData is the payload of step.before.
type StepBeforeData struct {
	State  json.RawMessage `json:"state,omitempty"`
	Merged json.RawMessage `json:"merged,omitempty"` // keys that the hooks added to the state
	Outcome
	Common
}

// StepOutputData is the payload of step.output.
type StepOutputData struct {
	State  json.RawMessage `json:"state,omitempty"`
	Output json.RawMessage `json:"output,omitempty"`
	Outcome
	Common
}

// SessionStartData is the payload of session.start.
type SessionStartData struct {
	From    string          `json:"from,omitempty"` // startup, resume, clear, compact
	Model   string          `json:"model,omitempty"`
	Charter string          `json:"charter,omitempty"`
	Config  json.RawMessage `json:"config,omitempty"`
	Outcome
	Common
}

// SessionEndedData is the payload of session.ended.
type SessionEndedData struct {
	Reason     string   `json:"reason,omitempty"`
	DurationMS int64    `json:"duration_ms,omitempty"`
	TokensUsed *Tokens  `json:"tokens_used,omitempty"`
	ToolCalls  int      `json:"tool_calls,omitempty"`
	Files      []string `json:"files,omitempty"`
	Notified
	Common
}

// SubagentStartData is the payload of subagent.start.
type SubagentStartData struct {
	Subagent string `json:"subagent,omitempty"` // id of the subagent
	Name     string `json:"name,omitempty"`
	Model    string `json:"model,omitempty"`
	TaskType string `json:"task_type,omitempty"`
	Charter  string `json:"charter,omitempty"`
	Outcome
	Common
}

// SubagentStoppedData is the payload of subagent.stopped.
type SubagentStoppedData struct {
	Subagent    string   `json:"subagent,omitempty"` // id of the subagent
	Name        string   `json:"name,omitempty"`
	Model       string   `json:"model,omitempty"`
	Status      string   `json:"status,omitempty"` // success or error
	DurationMS  int64    `json:"duration_ms,omitempty"`
	TokensUsed  *Tokens  `json:"tokens_used,omitempty"`
	TotalTokens int64    `json:"total_tokens,omitempty"` // if the tool sends only a total
	ToolCalls   int      `json:"tool_calls,omitempty"`
	Files       []string `json:"files,omitempty"`
	Notified
	Common
}

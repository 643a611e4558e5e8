package events

import (
	"encoding/json"
	"slices"
)

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

// Possible values of [StepStatus].
const (
	StepPending     StepStatus = "pending"
	StepRunning     StepStatus = "running"
	StepCompleted   StepStatus = "completed"
	StepFailed      StepStatus = "failed"
	StepSkipped     StepStatus = "skipped"
	StepInterrupted StepStatus = "interrupted" // stopped before its end, usually by a person
	StepUnknown     StepStatus = "unknown"     // ended, but nothing says how
)

// Open reports whether a step with this status continues.
func (s StepStatus) Open() bool { return s == StepPending || s == StepRunning }

// Stronger returns s or t. It decides which status counts if a step has two final events with the
// same time.
func (s StepStatus) Stronger(t StepStatus) StepStatus {
	order := []StepStatus{StepPending, StepRunning, StepSkipped, StepUnknown, StepCompleted, StepInterrupted, StepFailed}
	if slices.Index(order, t) > slices.Index(order, s) {
		return t
	}
	return s
}

// StepFinishedData is the payload of step.finished.
type StepFinishedData struct {
	RunType         string         `json:"run_type,omitempty"`
	AgentRole       string         `json:"agent_role,omitempty"`
	StepStatus      StepStatus     `json:"step_status"`
	InputSummary    string         `json:"input_summary,omitempty"`
	OutputSummary   string         `json:"output_summary,omitempty"`
	DurationMS      int64          `json:"duration_ms,omitempty"`
	TokensUsed      *Tokens        `json:"tokens_used,omitempty"`
	ToolCalls       int            `json:"tool_calls,omitempty"`
	ToolErrors      int            `json:"tool_errors,omitempty"`
	ToolDenied      int            `json:"tool_denied,omitempty"`      // calls with the status denied
	ToolInterrupted int            `json:"tool_interrupted,omitempty"` // calls with the status interrupted
	Error           *Failure       `json:"error,omitempty"`
	Metadata        map[string]any `json:"metadata,omitempty"` // complexity, partial_success, deferred, work_item, target, severity, …
	Notified
	Common
}

// RunStatus says how a run ended, such as completed or failed.
type RunStatus string

// Possible values of [RunStatus]. Only RunCompleted is a success, and only RunFailed is a failure.
const (
	RunCompleted   RunStatus = "completed"
	RunFailed      RunStatus = "failed"
	RunInterrupted RunStatus = "interrupted" // stopped before its end, usually by a person
	RunUnknown     RunStatus = "unknown"     // cut off, nothing says how it ended
)

// Reasons in a run.finished event with an unknown status. Such an event does not replace another
// end of the run.
const (
	ReasonEndOfLog = "end of log"     // the log does not say how the run ended
	ReasonIdle     = "idle"           // the agent was silent or waits for the next prompt, and reports no end of a session
	ReasonInTurn   = "left in a turn" // the session ended before its last turn did
)

// Stronger returns the status that counts if a run has two ends with the same time.
func (s RunStatus) Stronger(t RunStatus) RunStatus {
	order := []RunStatus{RunUnknown, RunCompleted, RunInterrupted, RunFailed}
	if slices.Index(order, t) > slices.Index(order, s) {
		return t
	}
	return s
}

// RunFinishedData is the payload of run.finished. If a run continues, its latest run.finished
// counts, see [RunEnd].
type RunFinishedData struct {
	RunType string `json:"run_type,omitempty"`
	Success bool   `json:"success"` // true only if RunStatus is completed
	// RunStatus says how the run ended. Earlier versions set only Success, so read both with the
	// method Status.
	RunStatus       RunStatus      `json:"run_status,omitempty"`
	Reason          string         `json:"reason,omitempty"` // why the run ended: completed, aborted, …
	OutputSummary   string         `json:"output_summary,omitempty"`
	DurationMS      int64          `json:"duration_ms,omitempty"`
	TokensUsed      *Tokens        `json:"tokens_used,omitempty"`
	Steps           int            `json:"steps,omitempty"`
	ToolCalls       int            `json:"tool_calls,omitempty"`
	ToolErrors      int            `json:"tool_errors,omitempty"`
	ToolDenied      int            `json:"tool_denied,omitempty"`      // calls with the status denied
	ToolInterrupted int            `json:"tool_interrupted,omitempty"` // calls with the status interrupted
	Unanswered      int            `json:"unanswered,omitempty"`       // tool calls without a result
	Cost            *Cost          `json:"cost,omitempty"`             // absent if unknown
	Files           []string       `json:"files,omitempty"`            // files that the run changed
	Error           *Failure       `json:"error,omitempty"`
	Metadata        map[string]any `json:"metadata,omitempty"`
	Notified
	Common
}

// Status returns how the run ended. It returns [RunUnknown] for a RunStatus that this version does
// not know. Without RunStatus, it uses Success, because earlier versions set only Success.
func (d RunFinishedData) Status() RunStatus {
	switch {
	case d.RunStatus != "":
		return knownStatus(d.RunStatus, RunUnknown)
	case d.Success:
		return RunCompleted
	}
	return RunFailed
}

// IsEndOfLog reports whether d does not know how the run ended, such as when a log stops in the
// middle of a run. Such an event does not replace another run.finished event. See
// [ReasonEndOfLog].
func (d RunFinishedData) IsEndOfLog() bool {
	return d.RunStatus == RunUnknown && (d.Reason == ReasonEndOfLog || d.Reason == ReasonIdle || d.Reason == ReasonInTurn)
}

// IsPause reports whether a later event of the run, which is not a custom event, shows that the run
// goes on. Nobody reported such an end. The run was silent, or its log ended.
func (d RunFinishedData) IsPause() bool { return d.IsEndOfLog() && d.Reason != ReasonInTurn }

// SetStatus sets RunStatus and Success.
func (d *RunFinishedData) SetStatus(s RunStatus) {
	d.RunStatus, d.Success = s, s == RunCompleted
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

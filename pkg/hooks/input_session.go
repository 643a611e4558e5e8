package hooks

import "time"

// Prompt is what [PromptSubmit] decides on.
type Prompt struct {
	Text string `json:"prompt"`
}

// PromptPatch changes a prompt.
type PromptPatch struct {
	Prompt     *string  `json:"prompt,omitempty"`     // the text as it is to be; nil: unchanged
	Directives []string `json:"directives,omitempty"` // standing orders found in it, kept for later
}

// Session is what [SessionStart] tells.
type Session struct {
	From    string `json:"from,omitempty"` // startup, resume, clear, compact
	Model   string `json:"model,omitempty"`
	Charter string `json:"charter,omitempty"` // what the agent is for
	Config  JSON   `json:"config,omitempty"`  // an object
}

// SessionPatch configures a session.
type SessionPatch struct {
	Model  string `json:"model,omitempty"`
	Config JSON   `json:"config,omitempty"` // an object, merged key by key
}

// Subagent is what [SubagentStart] decides on.
type Subagent struct {
	ID       string `json:"subagent,omitempty"`
	Name     string `json:"name,omitempty"`
	Model    string `json:"model,omitempty"`
	TaskType string `json:"task_type,omitempty"`
	Charter  string `json:"charter,omitempty"` // text or path of its charter
}

// SubagentPatch changes a sub-agent before it starts.
type SubagentPatch struct {
	Model string `json:"model,omitempty"`
}

// Compaction is what [CompactBefore] tells.
type Compaction struct {
	Trigger   string `json:"trigger,omitempty"` // auto or manual
	Strategy  string `json:"strategy,omitempty"`
	Tokens    int64  `json:"tokens,omitempty"`
	MaxTokens int64  `json:"max_tokens,omitempty"`
}

// CompactionPatch saves what a compaction would lose.
type CompactionPatch struct {
	Preserve []string `json:"preserve,omitempty"` // to stay in the context
	Export   JSON     `json:"export,omitempty"`   // an object, merged key by key
}

// Step is what [StepBefore] tells: the state that an agent starts from.
type Step struct {
	State JSON `json:"state,omitempty"` // an object
}

// StepPatch adds to the state.
type StepPatch struct {
	State JSON `json:"state,omitempty"` // an object, merged key by key
}

// StepState is the subject of [StepOutput].
type StepState struct {
	Agent string
	State JSON // what the agent started from
}

// ErrorType is where an error comes from.
type ErrorType string

// The types of errors.
const (
	ModelError           ErrorType = "model"
	ToolError            ErrorType = "tool"
	NetworkError         ErrorType = "network"
	PermissionError      ErrorType = "permission"
	ContextOverflowError ErrorType = "context_overflow"
	UnknownError         ErrorType = "unknown"
)

// Failure is what [Error] tells.
type Failure struct {
	Err     error
	Type    ErrorType
	Model   string // the model in use
	Attempt int    // from 1, where the engine counts
}

// Recovery says how to go on after an error.
type Recovery struct {
	Retry    bool          // false: give up
	Fallback string        // the model to go on with; empty: the same
	Prompt   string        // the prompt to go on with; empty: the same
	Backoff  time.Duration // how long to wait first
}

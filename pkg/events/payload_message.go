package events

import "encoding/json"

// PromptSubmitData is the payload of prompt.submit.
type PromptSubmitData struct {
	Prompt     string   `json:"prompt"`
	Directives []string `json:"directives,omitempty"`
	Outcome
	Common
}

// MessageData is the payload of message.create, message.created, message.update and
// message.updated.
type MessageData struct {
	Message string          `json:"message_id,omitempty"`
	Role    string          `json:"role,omitempty"`
	Content json.RawMessage `json:"content,omitempty"`
	Updates json.RawMessage `json:"updates,omitempty"`
	Outcome
	Common
}

// HistoryData is the payload of messages.filter and llm.request. It contains counts and digests,
// never the messages.
type HistoryData struct {
	Before       int    `json:"before"`                  // number of messages before the hooks
	After        int    `json:"after"`                   // number of messages after the hooks
	BeforeSHA256 string `json:"before_sha256,omitempty"` // lower-case hex
	AfterSHA256  string `json:"after_sha256,omitempty"`
	Model        string `json:"model,omitempty"`
	Outcome
	Common
}

// ResponseCompletedData is the payload of response.completed, the answer of a model. The last event
// with a message id counts.
type ResponseCompletedData struct {
	Message    string  `json:"message_id,omitempty"`
	Model      string  `json:"model,omitempty"`
	StopReason string  `json:"stop_reason,omitempty"`
	Text       string  `json:"text,omitempty"`
	TokensUsed *Tokens `json:"tokens_used,omitempty"`
	Cost       *Cost   `json:"cost,omitempty"` // absent if the source states none
	DurationMS int64   `json:"duration_ms,omitempty"`
	// Telemetry means that telemetry reported this answer. Its tokens count only if no other event
	// of the run has tokens.
	Telemetry bool `json:"telemetry,omitempty"`
	Notified
	Common
}

// SyntheticModel is the name that Claude Code gives as the model of messages that no model wrote.
const SyntheticModel = "<synthetic>"

// CompactBeforeData is the payload of compact.before.
type CompactBeforeData struct {
	Trigger   string   `json:"trigger,omitempty"` // auto or manual
	Strategy  string   `json:"strategy,omitempty"`
	Tokens    int64    `json:"tokens,omitempty"`
	MaxTokens int64    `json:"max_tokens,omitempty"`
	Preserve  []string `json:"preserve,omitempty"`
	Export    []string `json:"export,omitempty"`
	Outcome
	Common
}

// ErrorData is the payload of error.
type ErrorData struct {
	Error     Failure `json:"error"`
	ErrorType string  `json:"error_type,omitempty"`
	Model     string  `json:"model,omitempty"`
	Attempt   int     `json:"attempt,omitempty"`
	Retry     *bool   `json:"retry,omitempty"`
	Fallback  string  `json:"fallback_model,omitempty"`
	BackoffMS int64   `json:"backoff_ms,omitempty"`
	Outcome
	Common
}

// CheckpointCreatedData is the payload of checkpoint.created.
type CheckpointCreatedData struct {
	Checkpoint string   `json:"checkpoint"`
	Reason     string   `json:"reason,omitempty"`
	Files      []string `json:"files,omitempty"`
	Notified
	Common
}

// ModelSwitchedData is the payload of model.switched.
type ModelSwitchedData struct {
	From   string `json:"from,omitempty"`
	To     string `json:"to"`
	Reason string `json:"reason,omitempty"`
	Notified
	Common
}

// MemoryUpdatedData is the payload of memory.updated.
type MemoryUpdatedData struct {
	Key       string `json:"key,omitempty"`
	Operation string `json:"operation,omitempty"` // set, append or delete
	Summary   string `json:"summary,omitempty"`
	Notified
	Common
}

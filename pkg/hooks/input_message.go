package hooks

// NoSubject is the subject of transforms whose value says it all.
type NoSubject struct{}

// MessageID is the subject of [MessageUpdate]: the message to be updated.
type MessageID string

// Message is a message as it is stored.
type Message struct {
	ID         string  `json:"id"`
	Role       string  `json:"role"` // system, user, assistant, tool
	Content    *string `json:"content"`
	Name       string  `json:"name,omitempty"`
	ToolCalls  string  `json:"tool_calls,omitempty"` // JSON as text
	ToolCallID string  `json:"tool_call_id,omitempty"`
	CreatedAt  int64   `json:"created_at"`
	ParentID   string  `json:"parent_id,omitempty"`
	Depth      int     `json:"depth,omitempty"`
}

// LLMMessage is a message as it is sent to a model.
type LLMMessage struct {
	Role       string  `json:"role"`
	Content    *string `json:"content"`
	ToolCalls  JSON    `json:"tool_calls,omitempty"`
	ToolCallID string  `json:"tool_call_id,omitempty"`
	Name       string  `json:"name,omitempty"`
}

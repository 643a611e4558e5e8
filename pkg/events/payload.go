package events

import "encoding/json"

// Tokens counts model tokens.
type Tokens struct {
	Input         int64 `json:"input"`
	Output        int64 `json:"output"`
	CacheCreation int64 `json:"cache_creation,omitempty"`
	CacheRead     int64 `json:"cache_read,omitempty"`
}

// Plus returns the sum of t and u.
func (t Tokens) Plus(u Tokens) Tokens {
	return Tokens{t.Input + u.Input, t.Output + u.Output, t.CacheCreation + u.CacheCreation, t.CacheRead + u.CacheRead}
}

// Failure says what went wrong. Class names infrastructure failures
// ("rate_limit", "timeout") whose text differs from case to case.
type Failure struct {
	Message string `json:"message"`
	Class   string `json:"class,omitempty"`
}

// Verdict is the judgement of the hooks of a dispatch.
type Verdict string

// The verdicts, strongest first.
const (
	VerdictDeny  Verdict = "deny"
	VerdictAsk   Verdict = "ask"
	VerdictAllow Verdict = "allow"
	VerdictNone  Verdict = "none"
)

// Execution reports one hook's part in a dispatch.
type Execution struct {
	Hook       string  `json:"hook"`
	Name       string  `json:"name,omitempty"`
	Point      Kind    `json:"point,omitempty"`
	Success    bool    `json:"success"`
	Error      string  `json:"error,omitempty"` // never payload text
	DurationMS float64 `json:"duration_ms"`
	Verdict    Verdict `json:"verdict,omitempty"`
	Modified   bool    `json:"modified,omitempty"`
	TimedOut   bool    `json:"timed_out,omitempty"`
}

// Outcome is the result of a dispatch. It is empty without a dispatch.
type Outcome struct {
	Verdict    Verdict     `json:"verdict,omitempty"`
	Reason     string      `json:"reason,omitempty"`
	Context    string      `json:"additional_context,omitempty"`
	Executions []Execution `json:"executions,omitempty"`
}

// Notified has the executions of a notification's hooks.
type Notified struct {
	Executions []Execution `json:"executions,omitempty"`
}

// Common is embedded in every payload.
type Common struct {
	// Blobs names the fields that were too large for the wire and travelled
	// before this event as blob.chunk events: field name to content.
	Blobs map[string]BlobRef `json:"blobs,omitempty"`
	// Raw is a foreign tool's own JSON.
	Raw json.RawMessage `json:"raw,omitempty"`
	// Redacted lists the parts of the texts of this payload that were taken out
	// before the event was stored.
	Redacted []Redaction `json:"redacted,omitempty"`
}

// Redaction is a place where a marker replaced a secret or personal data.
type Redaction struct {
	Field string `json:"field"` // JSON Pointer to the text in data; empty where it is not told
	Rule  string `json:"rule"`  // that found it
	Start int    `json:"start"` // byte of the text as it came
	End   int    `json:"end"`
	More  int    `json:"more,omitempty"` // findings of the rule that are not listed one by one
}

// BlobRef names content by hash and size.
type BlobRef struct {
	SHA256 string `json:"sha256"` // lower-case hex of the whole content
	Bytes  int64  `json:"bytes"`
}

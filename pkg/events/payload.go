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

// Cost returns the cost of t at prices of a million tokens. A cache price of 0 means the price of
// input.
func (t Tokens) Cost(input, output, cacheRead, cacheCreation float64) float64 {
	if cacheRead == 0 {
		cacheRead = input
	}
	if cacheCreation == 0 {
		cacheCreation = input
	}
	return (float64(t.Input)*input + float64(t.Output)*output +
		float64(t.CacheRead)*cacheRead + float64(t.CacheCreation)*cacheCreation) / 1e6
}

// Cost is the price of model tokens.
type Cost struct {
	USD float64 `json:"usd"`
	// Estimated means that the source stated only tokens, and that USD is their list price.
	Estimated bool   `json:"estimated,omitempty"`
	Prices    string `json:"prices,omitempty"` // date of the price table of an estimate
}

// The largest count and cost that readers accept, so that sums do not overflow.
const (
	maxTokens = 1 << 40
	maxUSD    = 1e9
)

// UnmarshalJSON reads counts. A negative count becomes 0, and a larger one than 2^40 becomes 2^40.
func (t *Tokens) UnmarshalJSON(data []byte) error {
	type plain Tokens
	err := json.Unmarshal(data, (*plain)(t))
	for _, n := range []*int64{&t.Input, &t.Output, &t.CacheCreation, &t.CacheRead} {
		*n = min(max(*n, 0), maxTokens)
	}
	return err
}

// UnmarshalJSON reads a cost. A negative amount becomes 0, and one above 1e9 becomes 1e9.
func (c *Cost) UnmarshalJSON(data []byte) error {
	type plain Cost
	err := json.Unmarshal(data, (*plain)(c))
	c.USD = min(max(c.USD, 0), maxUSD)
	return err
}

// Failure describes an error. Messages of the same error vary, so Class names the category of an
// infrastructure failure, such as "timeout".
type Failure struct {
	Message string `json:"message"`
	Class   string `json:"class,omitempty"`
}

// Verdict is the combined decision of the hooks of a dispatch.
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
	Error      string  `json:"error,omitempty"` // never contains payload text
	DurationMS float64 `json:"duration_ms"`
	Verdict    Verdict `json:"verdict,omitempty"`
	Modified   bool    `json:"modified,omitempty"`
	TimedOut   bool    `json:"timed_out,omitempty"`
}

// Outcome is the result of a dispatch. It is empty if there was no dispatch.
type Outcome struct {
	Verdict    Verdict     `json:"verdict,omitempty"`
	Reason     string      `json:"reason,omitempty"`
	Context    string      `json:"additional_context,omitempty"`
	Executions []Execution `json:"executions,omitempty"`
}

// Notified lists the executions of a notification's hooks.
type Notified struct {
	Executions []Execution `json:"executions,omitempty"`
}

// Common is embedded in every payload.
type Common struct {
	// Blobs lists the fields that were too large for the event. Their content is in earlier
	// blob.chunk events.
	Blobs map[string]BlobRef `json:"blobs,omitempty"`
	// Raw is the original JSON of the agent or tool that the payload comes from.
	Raw json.RawMessage `json:"raw,omitempty"`
	// Redacted lists the parts of this payload that were replaced by markers before the event was
	// stored.
	Redacted []Redaction `json:"redacted,omitempty"`
	// Untimed means that the source stated no time. The event then has the time of its file or of
	// the import.
	Untimed bool `json:"untimed,omitempty"`
}

// Redaction describes a text in an event in which a marker replaced a secret or personal data.
type Redaction struct {
	Field string `json:"field"` // JSON Pointer to the text in data, empty if unknown
	Rule  string `json:"rule"`  // id of the rule that found it
	Start int    `json:"start"` // byte position in the original text
	End   int    `json:"end"`
	More  int    `json:"more,omitempty"` // number of findings of the same rule that are not listed
}

// BlobRef identifies content by hash and size.
type BlobRef struct {
	SHA256 string `json:"sha256"` // lower-case hex of the whole content
	Bytes  int64  `json:"bytes"`
}

package events

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Event is one CloudEvents 1.0 event. Start with [New], or set at least ID, Source, Type and Time.
// An empty string means that the attribute is absent.
type Event struct {
	ID              string    // unique within its source
	Source          string    // such as "/engine" or "claude-code"
	Type            string    // "hooktrail.<kind>", or a type of another tool
	Subject         string    // the run id, set by Normalize if empty
	Time            time.Time // UTC
	DataContentType string    // empty means application/json

	Tenant   string // owner of the event
	Producer string // the outbox that numbered the event
	Sequence uint64 // 1, 2, 3 and so on for a producer in a tenant, 0 before the number is assigned

	Run         string // runid
	Step        string // stepid
	Session     string // sessionid
	Agent       string
	AgentRole   string // such as FOREMAN or CODER
	RunType     string // such as TRIAGE, PLAN, RESOLVE, REVIEW or AUTOPILOT
	ParentAgent string
	ParentRun   string
	ToolCall    string // connects a call and its result
	User        string // userid
	AgentFS     string // path of the AgentFS file (GWI_AGENTFS_ID)
	Hooks       string // enabled hooks, such as "agentfs" and "beads". Empty enables all hooks
	TraceParent string // W3C traceparent
	Salt        string // 128 random bits in base64url, set when the event is published

	Extra []Attribute // unknown attributes in their order

	Data   json.RawMessage // the payload as verbatim JSON
	Binary []byte          // decoded data_base64, nil if Data is set
}

// Attribute is an unknown CloudEvents extension attribute. Value is verbatim JSON.
type Attribute struct {
	Name  string
	Value json.RawMessage
}

// Kind returns the kind of e. Events of other tools are [Custom].
func (e Event) Kind() Kind { return KindOf(e.Type) }

// Untimed reports whether the source of e stated no time, so that e.Time is only the time of
// recording. See [Common].
func (e Event) Untimed() bool {
	var common struct {
		Untimed bool `json:"untimed"`
	}
	return bytes.Contains(e.Data, []byte(`"untimed"`)) && json.Unmarshal(e.Data, &common) == nil && common.Untimed
}

// Enabled reports whether the list e.Hooks contains the hook. Upper and lower case are equal. An
// empty e.Hooks enables all hooks.
func (e Event) Enabled(hook string) bool {
	names := strings.FieldsFunc(e.Hooks, func(r rune) bool { return r == ',' || r == ' ' })
	return e.Hooks == "" || slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, hook) })
}

// New returns an event with a new id and the current time. It fails if payload cannot be encoded.
func New(k Kind, source string, payload any) (Event, error) {
	e := Event{ID: NewID(), Source: source, Type: k.Type(), Time: time.Now().UTC()}
	err := e.SetData(payload)
	return e, err
}

// Payload decodes the data of e into T and ignores unknown fields. It succeeds for every valid
// event if T is the type from [PayloadOf].
//
// A client without pkg/publish can send a payload that does not fit its kind. Payload still finds a
// denial or a success in it, see [Event.Denies] and [Event.CallSucceeded]. An unknown status of a
// run or step reads as unknown.
//
// Payload returns at most 2,000 executions and redactions, because long lists need much memory.
func Payload[T any](e Event) (T, error) {
	var p T
	var err error
	if len(e.Data) > 0 {
		err = json.Unmarshal(withShortLists(e.Data), &p)
	}
	if p, ok := any(&p).(interface{ settle(e Event) }); ok {
		p.settle(e)
	}
	if err != nil && !e.DeniesCall() && !e.CallSucceeded() {
		return p, fmt.Errorf("decode data of %s %s: %w", e.Type, e.ID, err)
	}
	return p, nil
}

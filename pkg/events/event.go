package events

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Event is one CloudEvents 1.0 event with Hooktrail's extension attributes. An empty
// string is an absent attribute. The zero Event is invalid. Set ID, Source, Type and
// Time, or start with [New].
type Event struct {
	ID              string    // unique within its source; see [NewID] and [DeriveID]
	Source          string    // "/engine", "claude-code"
	Type            string    // "hooktrail.<kind>", or a type of another tool
	Subject         string    // the run id; Normalize sets it if empty
	Time            time.Time // time of the event, UTC
	DataContentType string    // empty means application/json

	Tenant   string // owner of the event
	Producer string // the outbox that numbered it
	Sequence uint64 // consecutive from 1 per (tenant, producer); 0 before it is assigned

	Run         string // runid
	Step        string // stepid
	Session     string // sessionid
	Agent       string // agent
	AgentRole   string // agentrole, such as FOREMAN or CODER
	RunType     string // runtype, such as TRIAGE, PLAN, RESOLVE, REVIEW or AUTOPILOT
	ParentAgent string // parentagent
	ParentRun   string // parentrun
	ToolCall    string // toolcall, which relates a call and its result
	User        string // userid
	AgentFS     string // agentfs, the AgentFS file (GWI_AGENTFS_ID)
	Hooks       string // hooks, a list of the enabled names "agentfs" and "beads"; empty enables all
	TraceParent string // W3C traceparent
	Salt        string // 128 random bits, base64url; set at Append

	Extra []Attribute // unknown attributes in their order

	Data   json.RawMessage // the payload as verbatim JSON, or nil
	Binary []byte          // the payload of data_base64; nil if Data is set
}

// Attribute is a CloudEvents extension attribute that this version does not know. Value
// is verbatim JSON.
type Attribute struct {
	Name  string
	Value json.RawMessage
}

// Kind returns the kind of e. Events with types of other tools are [Custom].
func (e Event) Kind() Kind { return KindOf(e.Type) }

// Enabled reports whether the hooks attribute of e enables hook. It does if it is empty
// or lists the name. Case does not matter.
func (e Event) Enabled(hook string) bool {
	if e.Hooks == "" {
		return true
	}
	for name := range strings.FieldsFuncSeq(e.Hooks, func(r rune) bool { return r == ',' || r == ' ' }) {
		if strings.EqualFold(name, hook) {
			return true
		}
	}
	return false
}

// New returns an event of kind k with a new id, the current time and payload as its
// data. It fails only if payload cannot be encoded as JSON.
func New(k Kind, source string, payload any) (Event, error) {
	e := Event{ID: NewID(), Source: source, Type: k.Type(), Time: time.Now().UTC()}
	err := e.SetData(payload)
	return e, err
}

// Payload decodes the data of e into the payload type T. It ignores unknown fields. It
// succeeds for every event that [Event.Validate] accepts if T is the type that
// [PayloadOf] returns for the kind.
func Payload[T any](e Event) (T, error) {
	var p T
	if len(e.Data) == 0 {
		return p, nil
	}
	if err := json.Unmarshal(e.Data, &p); err != nil {
		return p, fmt.Errorf("decode data of %s %s: %w", e.Type, e.ID, err)
	}
	return p, nil
}

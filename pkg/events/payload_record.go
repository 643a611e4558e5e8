package events

import (
	"encoding/json"
	"strconv"
	"time"
)

// HookExecutedData is the payload of hook.executed, about a hook that ended after its dispatch.
type HookExecutedData struct {
	Execution
	Dispatch string `json:"dispatch,omitempty"` // id of the event of the dispatch
	Late     bool   `json:"late,omitempty"`
	Common
}

// RunSealedData is the payload of run.sealed. It states how many events of a run a producer has
// sent, so that missing events are noticed. If a run continues, a later seal of the producer
// replaces the earlier one.
type RunSealedData struct {
	Count uint64 `json:"count"` // number of events in the run, not counting seals
	First uint64 `json:"first"` // sequence of the first of these events
	Last  uint64 `json:"last"`  // sequence of the last of these events
	// Digest chains the hashes of the counted events in lower-case hex: d₀ = 32 zero bytes, dᵢ =
	// SHA-256(dᵢ₋₁ ‖ SHA-256(eventᵢ)).
	Digest string `json:"digest"`
	Common
}

// ID returns the id that the run.sealed event with this payload must have. A seal with another id
// is a copy or forged.
func (d RunSealedData) ID(tenant, producer, run string) string {
	return DeriveID("seal", tenant, producer, run, strconv.FormatUint(d.Count, 10), d.Digest)
}

// GapRecordedData is the payload of gap.recorded, about events that got numbers and were then lost.
type GapRecordedData struct {
	First  uint64 `json:"first"`
	Last   uint64 `json:"last"`
	Reason string `json:"reason"` // "shed", "refused" or "damaged"
	Common
}

// BlobChunkData is the payload of blob.chunk, a part of a large payload.
type BlobChunkData struct {
	SHA256  string `json:"sha256"` // hash of the whole content in lower-case hex
	Bytes   int64  `json:"bytes"`  // size of the whole content
	Index   int    `json:"index"`  // from 0
	Chunks  int    `json:"chunks"`
	Content []byte `json:"content"` // base64
	Common
}

// Values of the rule in an issue.decided event that answers an order to erase.
const (
	RuleErased = "order > erased" // the texts are gone
	RuleHeld   = "order > held"   // a hold protects an event of the order
	RuleWaits  = "order > waits"  // the tracker has no key that signed the order
)

// IssueDecidedData is the payload of issue.decided, the tracker's decision about an event or an
// order to erase.
type IssueDecidedData struct {
	Event    string              `json:"event"` // id of the event or order that the decision is about
	Action   string              `json:"action"`
	Rule     string              `json:"rule"`
	Reason   string              `json:"reason"`
	Issues   []string            `json:"issues,omitempty"`
	Counters map[string][2]int64 `json:"counters,omitempty"` // name to value and limit
	Flip     string              `json:"flip,omitempty"`     // a condition that would have changed the decision
	Config   string              `json:"config"`             // hash of the heuristics configuration
	Common
}

// IssueEditedData is the payload of issue.edited, an edit by a person.
type IssueEditedData struct {
	Event  string `json:"event,omitempty"` // id of any event that the issue covers
	Issue  string `json:"issue,omitempty"`
	Action string `json:"action"`         // not_planned, closed, reopened, assigned, retitled
	By     string `json:"by"`             // name that the caller gives
	User   string `json:"user,omitempty"` // system user and host, absent for an edit in a workspace
	Value  string `json:"value,omitempty"`
	Common
}

// ProducerLostData is the payload of producer.lost. The unsent events of the producer are lost.
type ProducerLostData struct {
	Producer string `json:"producer"`
	Outbox   string `json:"outbox,omitempty"` // name of the outbox in the data directory
	Last     uint64 `json:"last,omitempty"`   // last known number in this tenant
	Key      string `json:"key,omitempty"`    // key whose next manifest ends the loss
	Common
}

// ClockTickedData is the payload of clock.ticked.
type ClockTickedData struct {
	At time.Time `json:"at"`
	Common
}

// HookProblem is the name of custom events with which a hook command reports problems.
const HookProblem = "hook.problem"

// CustomData is the payload of custom, an event of another tool. Raw has all of it.
type CustomData struct {
	Name string          `json:"name,omitempty"` // name of the event in that tool
	Data json.RawMessage `json:"data,omitempty"`
	Common
}

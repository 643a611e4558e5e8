package events

import (
	"encoding/json"
	"strconv"
	"time"
)

// HookExecutedData is the payload of hook.executed: a hook that ended after its
// dispatch, because it was late or asynchronous.
type HookExecutedData struct {
	Execution
	Dispatch string `json:"dispatch,omitempty"` // id of the dispatch's own event
	Late     bool   `json:"late,omitempty"`
	Common
}

// RunSealedData is the payload of run.sealed: what one producer sent for one
// run. A sealed run may go on and be sealed again; the last seal counts.
type RunSealedData struct {
	Count uint64 `json:"count"` // events of the run, this seal and earlier seals left out
	First uint64 `json:"first"` // sequence of the first of them
	Last  uint64 `json:"last"`  // sequence of the last of them
	// Digest chains their hashes: d₀ = 32 zero bytes, dᵢ = SHA-256(dᵢ₋₁ ‖ SHA-256(eventᵢ)),
	// lower-case hex.
	Digest string `json:"digest"`
	Common
}

// ID returns the id of the event with seal d of this producer. A replayed seal
// of another producer has another id and no effect.
func (d RunSealedData) ID(tenant, producer, run string) string {
	return DeriveID("seal", tenant, producer, run, strconv.FormatUint(d.Count, 10), d.Digest)
}

// GapRecordedData is the payload of gap.recorded: events that were numbered
// and then lost by their producer, and why.
type GapRecordedData struct {
	First  uint64 `json:"first"`
	Last   uint64 `json:"last"`
	Reason string `json:"reason"` // "shed", "refused" or "damaged"; never payload text
	Common
}

// BlobChunkData is the payload of blob.chunk: part of a payload that is too
// large for the wire.
type BlobChunkData struct {
	SHA256  string `json:"sha256"` // of the whole content, lower-case hex
	Bytes   int64  `json:"bytes"`  // of the whole content
	Index   int    `json:"index"`  // from 0
	Chunks  int    `json:"chunks"`
	Content []byte `json:"content"` // base64
	Common
}

// IssueDecidedData is the payload of issue.decided: the tracker's one decision
// on one event.
type IssueDecidedData struct {
	Event    string              `json:"event"` // the event decided on
	Action   string              `json:"action"`
	Rule     string              `json:"rule"`
	Reason   string              `json:"reason"`
	Issues   []string            `json:"issues,omitempty"`
	Counters map[string][2]int64 `json:"counters,omitempty"` // name to value and limit
	Flip     string              `json:"flip,omitempty"`     // what would have changed it
	Config   string              `json:"config"`             // hash of the heuristics' configuration
	Common
}

// IssueEditedData is the payload of issue.edited: a person's edit.
type IssueEditedData struct {
	Event  string `json:"event,omitempty"` // any event that the issue covers
	Issue  string `json:"issue,omitempty"`
	Action string `json:"action"`         // not_planned, closed, reopened, assigned, retitled
	By     string `json:"by"`             // as the caller says
	User   string `json:"user,omitempty"` // of the operating system, with the host; absent for an edit in a workspace
	Value  string `json:"value,omitempty"`
	Common
}

// ProducerLostData is the payload of producer.lost: the outbox of a producer was missing
// when its data directory was opened. Events that waited in it are lost.
type ProducerLostData struct {
	Producer string `json:"producer"`
	Outbox   string `json:"outbox,omitempty"` // its name in the data directory
	Last     uint64 `json:"last,omitempty"`   // the last known number in this tenant
	Common
}

// ClockTickedData is the payload of clock.ticked.
type ClockTickedData struct {
	At time.Time `json:"at"`
	Common
}

// CustomData is the payload of custom: an event of a foreign tool, lossless in Raw.
type CustomData struct {
	Name string          `json:"name,omitempty"` // the tool's own name of the event
	Data json.RawMessage `json:"data,omitempty"`
	Common
}

package verifier

import (
	"fmt"
	"slices"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
)

// AsOf says up to which message of the stream a report is valid. It also counts the events that are
// in the stream or in outboxes, but not in the ledger.
type AsOf struct {
	Time time.Time `json:"time"` // time of the newest checkpoint
	// Age is the time since the checkpoint was signed, by the reader's clock. It is 0 if unknown.
	Age      time.Duration `json:"age_ns,omitempty"`
	Created  time.Time     `json:"stream"`   // when the stream was created
	Position uint64        `json:"position"` // stream sequence of the tenant's last message in the ledger

	Later    *Later `json:"later,omitempty"`     // nil if the stream was not asked
	NotAsked string `json:"not_asked,omitempty"` // why the stream was not asked
	// OtherStream means that the stream which was asked for newer messages is not the stream that
	// the ledger has read.
	OtherStream bool      `json:"other_stream,omitempty"`
	Outboxes    []Waiting `json:"outboxes"`                // outboxes with unsent events
	Unwritten   []Waiting `json:"unwritten,omitempty"`     // outboxes with sent events that the ledger lacks, if the stream was not asked
	Unread      string    `json:"unread_outbox,omitempty"` // why an outbox could not be read

	Missing []MissingOutbox `json:"missing_outboxes,omitempty"` // outboxes that are gone or damaged
}

// MissingOutbox describes an outbox, the local event queue of a producer, that is damaged or that
// disappeared without being closed.
type MissingOutbox struct {
	Outbox   string `json:"outbox"` // name in the data directory
	Producer string `json:"producer"`
	Last     uint64 `json:"last,omitempty"`    // last known number of the tenant
	Damaged  bool   `json:"damaged,omitempty"` // it exists and cannot be read
}

// A Later counts the tenant's messages that are in the stream but not in the ledger.
type Later struct {
	Last      uint64 `json:"last"`               // stream sequence of the tenant's last message
	Events    int64  `json:"events"`             // without manifests
	Manifests int64  `json:"manifests"`          // can be heartbeats, so they do not make the ledger UNPROVEN
	AtLeast   bool   `json:"at_least,omitempty"` // counting stopped early
}

// Any reports whether the stream contains an event that the ledger lacks. Missing manifests do not
// count, because a manifest can be a heartbeat without events.
func (l Later) Any() bool { return l.Events > 0 || l.AtLeast }

// Waiting counts the tenant's events in one outbox that have not reached the stream or the ledger
// yet.
type Waiting struct {
	Outbox  string `json:"outbox"`            // name in the data directory
	Events  uint64 `json:"events"`            // events of the tenant that the stream or the ledger does not have
	Lost    uint64 `json:"lost,omitempty"`    // numbers that will never arrive, not recorded yet
	Damaged uint64 `json:"damaged,omitempty"` // unreadable records of any tenant
	// Uses means that the events only record uses of the evidence. The ledger then counts as up to
	// date.
	Uses bool `json:"uses,omitempty"`
}

// AsOfCheckpoint returns an [AsOf] that has only the position in the checkpoint, because the ledger
// is verified without access to the stream.
func AsOfCheckpoint(c ledger.Checkpoint) AsOf {
	return AsOf{Time: c.Time, Created: c.Position.Stream, Position: c.Position.Sequence, Outboxes: []Waiting{}}
}

// Behind reports whether the ledger may lack events of the tenant, because they are in the stream
// or in an outbox, or are lost.
func (a AsOf) Behind() bool {
	if a.OtherStream || a.Later != nil && a.Later.Any() || len(a.Missing) > 0 {
		return true
	}
	for _, w := range slices.Concat(a.Outboxes, a.Unwritten) {
		if w.Lost+w.Damaged > 0 || !w.Uses && w.Events > 0 {
			return true
		}
	}
	return false
}

// SetAsOf stores a in the report. If the ledger lacks events according to a, the report is at best
// [Unproven].
func (r *Report) SetAsOf(a AsOf) {
	r.AsOf = &a
	if !a.Behind() {
		return
	}
	if r.Completeness == Complete || r.Completeness == Empty {
		r.Completeness = Unproven
	}
	r.Exit = max(r.Exit, ExitIncomplete)
}

// LimitAge makes the report at best [Unproven] if the newest checkpoint or the newest record is
// older than limit. Call it after [Report.SetAsOf].
func (r *Report) LimitAge(limit time.Duration) {
	if r.AsOf == nil || limit <= 0 {
		return
	}
	checkpoint := r.AsOf.Age
	record := checkpoint
	if !r.Newest.IsZero() {
		record = max(checkpoint+r.AsOf.Time.Sub(r.Newest), 0)
	}
	if max(checkpoint, record) <= limit {
		return
	}
	r.Unproven = append(r.Unproven, fmt.Sprintf(
		"too old: the newest record was stored %s ago and the newest checkpoint signed %s ago, and the limit is %s",
		record.Round(time.Second), checkpoint.Round(time.Second), limit))
	if r.Completeness == Complete || r.Completeness == Empty {
		r.Completeness = Unproven
	}
	r.Exit = max(r.Exit, ExitIncomplete)
}

func (r *Report) worst(unproven, empty bool) Completeness {
	switch {
	case len(r.Gaps) > 0:
		return Gaps
	case len(r.Unsealed) > 0:
		return Unsealed
	case unproven:
		return Unproven
	case empty:
		return Empty
	}
	return Complete
}

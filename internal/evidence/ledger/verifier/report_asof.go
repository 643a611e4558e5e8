package verifier

import (
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
)

// AsOf says up to which message of the stream a report applies, and how many events the ledger
// does not have yet. If only the file was verified, only Time, Created and Position are known.
type AsOf struct {
	Time     time.Time `json:"time"`     // time of the newest checkpoint
	Created  time.Time `json:"stream"`   // when the stream was created
	Position uint64    `json:"position"` // stream sequence of the tenant's last message in the ledger

	Later    *Later    `json:"later,omitempty"`         // nil if the stream was not asked
	NotAsked string    `json:"not_asked,omitempty"`     // why the stream was not asked; empty if it was
	Outboxes []Waiting `json:"outboxes"`                // outboxes of the data directory in which events wait
	Unread   string    `json:"unread_outbox,omitempty"` // why an outbox could not be read

	Missing []MissingOutbox `json:"missing_outboxes,omitempty"` // outboxes that the data directory should have
}

// MissingOutbox describes an outbox that was in the data directory and was not closed, but no
// longer exists.
type MissingOutbox struct {
	Outbox   string `json:"outbox"`
	Producer string `json:"producer"`
	Last     uint64 `json:"last,omitempty"` // last known number of a message of the tenant
}

// Later counts the messages of the tenant that were in the stream, but not in the ledger, when
// the stream was asked.
type Later struct {
	Last      uint64 `json:"last"`               // stream sequence of the tenant's last message in the stream
	Events    int64  `json:"events"`             // without manifests
	Manifests int64  `json:"manifests"`          // of producers
	AtLeast   bool   `json:"at_least,omitempty"` // counting stopped early
}

// Any reports whether the ledger lacks an event. Manifests without events do not count,
// because producers also send them as heartbeats.
func (l Later) Any() bool { return l.Events > 0 || l.AtLeast }

// Waiting counts the events of the tenant that have not been sent from one outbox yet.
type Waiting struct {
	Outbox  string `json:"outbox"`
	Events  uint64 `json:"events"`
	Lost    uint64 `json:"lost,omitempty"`    // numbers that will never arrive, without a record of the loss yet
	Damaged uint64 `json:"damaged,omitempty"` // unreadable records of any tenant
	// Uses means that the events only record that somebody used the evidence. [Report.SetAsOf]
	// ignores such events.
	Uses bool `json:"uses,omitempty"`
}

// AsOfCheckpoint returns the AsOf of a ledger whose newest checkpoint is c.
func AsOfCheckpoint(c ledger.Checkpoint) AsOf {
	return AsOf{Time: c.Time, Created: c.Position.Stream, Position: c.Position.Sequence, Outboxes: []Waiting{}}
}

// Behind reports whether there may be events of the tenant that the ledger does not have.
func (a AsOf) Behind() bool {
	if a.Later != nil && a.Later.Any() {
		return true
	}
	if len(a.Missing) > 0 {
		return true
	}
	for _, w := range a.Outboxes {
		if w.Lost+w.Damaged > 0 || !w.Uses && w.Events > 0 {
			return true
		}
	}
	return false
}

// SetAsOf adds a to the report. If the ledger lacks events, [Complete] and [Empty] become
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

package verifier

import (
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
)

// AsOf says up to which message of the stream a report speaks, and how much the ledger
// does not have yet. A verification of the file alone knows only Time, Created and
// Position.
type AsOf struct {
	Time     time.Time `json:"time"`     // of the newest checkpoint
	Created  time.Time `json:"stream"`   // when the stream was created
	Position uint64    `json:"position"` // sequence of the tenant's last message in the ledger

	Later    *Later    `json:"later,omitempty"`         // nil if the stream was not asked
	NotAsked string    `json:"not_asked,omitempty"`     // why the stream was not asked
	Outboxes []Waiting `json:"outboxes"`                // of the data directory, with events that wait
	Unread   string    `json:"unread_outbox,omitempty"` // why an outbox could not be read

	Missing []MissingOutbox `json:"missing_outboxes,omitempty"` // of the data directory
}

// MissingOutbox is an outbox that the data directory had, that was not closed, and that is
// gone.
type MissingOutbox struct {
	Outbox   string `json:"outbox"`
	Producer string `json:"producer"`
	Last     uint64 `json:"last,omitempty"` // last known number of the tenant
}

// Later counts the messages of the tenant that the stream had when it was asked, and that
// the ledger did not have.
type Later struct {
	Last      uint64 `json:"last"`               // sequence of the tenant's last message in the stream
	Events    int64  `json:"events"`             // without manifests
	Manifests int64  `json:"manifests"`          // of producers
	AtLeast   bool   `json:"at_least,omitempty"` // counting stopped early
}

// Any reports whether the ledger lacks an event. Manifests alone are heartbeats.
func (l Later) Any() bool { return l.Events > 0 || l.AtLeast }

// Waiting counts the events of the tenant that wait in one outbox.
type Waiting struct {
	Outbox  string `json:"outbox"`
	Events  uint64 `json:"events"`
	Lost    uint64 `json:"lost,omitempty"`    // numbers that will never arrive, not yet recorded in the stream
	Damaged uint64 `json:"damaged,omitempty"` // unreadable records of any tenant
	// Uses means that the events are records of the use of evidence, which [Report.SetAsOf]
	// does not count.
	Uses bool `json:"uses,omitempty"`
}

// AsOfCheckpoint returns the point up to which a ledger with this checkpoint speaks.
func AsOfCheckpoint(c ledger.Checkpoint) AsOf {
	return AsOf{Time: c.Time, Created: c.Position.Stream, Position: c.Position.Sequence, Outboxes: []Waiting{}}
}

// Behind reports whether events of the tenant exist that the ledger does not have.
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

// SetAsOf adds what the ledger does not have yet. A complete ledger that is behind becomes
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

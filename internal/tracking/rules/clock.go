package rules

import (
	"slices"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

const (
	// maxBehind is the number of consecutive events far behind a tenant's clock that
	// set the clock back.
	maxBehind = 20
	// maxAhead is the distance ahead of the clock up to which an unconfirmed event keeps
	// its own time.
	maxAhead = 2 * 365 * day
)

// Tenant has the clock of a tenant, the times of its new issues, and its digests.
type Tenant struct {
	Clock    time.Time   `json:"clock,omitzero"` // latest credible event time
	Far      far         `json:"far,omitzero"`
	Behind   int         `json:"behind,omitempty"` // consecutive events far behind the clock
	Count    uint64      `json:"count"`            // considered events
	Created  []time.Time `json:"created,omitempty"`
	Critical []time.Time `json:"critical,omitempty"`
	Tracking []time.Time `json:"tracking,omitempty"`
	Digest   string      `json:"digest,omitempty"`  // id of the latest digest
	Digests  int         `json:"digests,omitempty"` // number of digests
}

var tenants = table[Tenant]{"tenant", func(t *Tenant) {
	t.Created, t.Critical, t.Tracking = slices.Clone(t.Created), slices.Clone(t.Critical), slices.Clone(t.Tracking)
}}

// far is the latest event that was too far ahead to move the clock alone.
type far struct {
	Source string    `json:"source"`
	Event  string    `json:"event"`
	At     time.Time `json:"at,omitzero"`
}

// move moves the clock to the time of e, unless that is far away. An event far ahead
// moves the clock only if a second event confirms it. Only a long series of events far
// behind sets the clock back. A clock.ticked always moves the clock forward, because it
// is published for due timers. The record of a service never moves it.
func (t *Tenant) move(e events.Event, leap time.Duration) {
	if isRecord(e.Kind()) {
		return
	}
	at := e.Time.UTC()
	ahead := at.Sub(t.Clock)
	switch {
	case t.Clock.IsZero() || ahead.Abs() <= leap || ahead > 0 && passes(e, ahead):
		t.Clock, t.Behind = latest(t.Clock, at), 0
	case ahead < 0:
		if !Considered(e.Kind()) { // it may be a repeat
			return
		}
		if t.Behind++; t.Behind >= maxBehind {
			t.Clock, t.Behind = at, 0
		}
	case t.Far.confirmed(e, leap):
		t.Clock, t.Behind, t.Far = latest(at, t.Far.At), 0, far{}
	default:
		t.Far = far{e.Source, e.ID, at}
	}
}

// isRecord reports whether a service writes events of kind k about other events. Their
// time is the time of writing. It is far after the time of the work when old sessions
// are imported.
func isRecord(k events.Kind) bool {
	return k == events.RunSealed || k == events.GapRecorded || k == events.AuditAccessed
}

// passes reports whether e alone proves that time has passed. This is true for a
// clock.ticked and for a custom event without a run.
func passes(e events.Event, ahead time.Duration) bool {
	return e.Kind() == events.ClockTicked || e.Run == "" && e.Kind() == events.Custom && ahead <= maxAhead
}

// confirmed reports whether e is a different event of about the same time.
func (f far) confirmed(e events.Event, leap time.Duration) bool {
	another := f.Event != "" && (f.Event != e.ID || f.Source != e.Source)
	return another && e.Time.Sub(f.At).Abs() <= leap
}

// take returns the effective time of e. It is the clock for an absurd time and for the
// record of a service, else the time of e.
func (t *Tenant) take(e events.Event) time.Time {
	at := e.Time.UTC()
	if !t.Clock.IsZero() && (at.Sub(t.Clock) > maxAhead || isRecord(e.Kind())) {
		return t.Clock
	}
	return at
}

// after returns the time d after at, at most forever.
func after(at time.Time, d time.Duration) time.Time {
	if forever.Sub(at) < d {
		return forever
	}
	return at.Add(d)
}

// graceEnd returns the end of the grace period of a failure at a time, and the time to
// check it. The check is earlier if the clock is behind the failure, because the clock
// may never reach it.
func graceEnd(r records, grace time.Duration, at time.Time) (end, check time.Time) {
	end = after(at, grace)
	return end, earlier(end, after(r.clock().Clock, grace))
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func latest(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

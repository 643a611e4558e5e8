package rules

import (
	"slices"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

const (
	// The clock is set back after maxBehind consecutive events that are much older than the clock.
	maxBehind = 20
	// Times that are more than maxAhead ahead of the clock are ignored, unless a second event
	// confirms them.
	maxAhead = 2 * 365 * day
)

// Tenant contains the clock and the rate limits of one tenant. The clock follows event times
// instead of the system clock, so that a replay makes the same decisions.
type Tenant struct {
	Clock    time.Time   `json:"clock,omitzero"` // latest credible event time
	Far      far         `json:"far,omitzero"`
	Behind   int         `json:"behind,omitempty"` // consecutive events far behind the clock
	Count    uint64      `json:"count"`
	Created  []time.Time `json:"created,omitempty"`
	Critical []time.Time `json:"critical,omitempty"`
	Tracking []time.Time `json:"tracking,omitempty"`
	Digest   string      `json:"digest,omitempty"`
	Digests  int         `json:"digests,omitempty"`
	// Succeeded counts the calls whose successful result came when no denial of the call was known.
	Succeeded uint64 `json:"succeeded,omitempty"`
}

var tenants = table[Tenant]{"tenant", func(t *Tenant) {
	t.Created, t.Critical, t.Tracking = slices.Clone(t.Created), slices.Clone(t.Critical), slices.Clone(t.Tracking)
}}

type far struct {
	Source string    `json:"source"`
	Event  string    `json:"event"`
	At     time.Time `json:"at,omitzero"`
}

// move requires a second event as confirmation of a large step of the clock, because one wrong time
// would end all grace periods.
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
		if !Considered(e.Kind()) { // it may be a repetition
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

// isRecord recognises events about other events, such as lost ones. They may come long after the
// work, so their times do not move the clock.
func isRecord(k events.Kind) bool {
	return k == events.RunSealed || k == events.GapRecorded || k == events.AuditAccessed
}

func passes(e events.Event, ahead time.Duration) bool {
	return ahead <= maxAhead && (e.Kind() == events.ClockTicked || e.Run == "" && e.Kind() == events.Custom)
}

func (f far) confirmed(e events.Event, leap time.Duration) bool {
	another := f.Event != "" && (f.Event != e.ID || f.Source != e.Source)
	return another && e.Time.Sub(f.At).Abs() <= leap
}

func (t *Tenant) take(e events.Event) time.Time {
	at := e.Time.UTC()
	if !t.Clock.IsZero() && (at.Sub(t.Clock) > maxAhead || isRecord(e.Kind())) {
		return t.Clock
	}
	return at
}

func after(at time.Time, d time.Duration) time.Time {
	if forever.Sub(at) < d {
		return forever
	}
	return at.Add(d)
}

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

package rules

import (
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

const (
	// maxBehind is how many events in a row, all far behind a tenant's clock, bring
	// it back to them.
	maxBehind = 20
	// maxAhead is how far ahead of the clock an event may be that nothing confirms,
	// to be taken at its own time.
	maxAhead = 2 * 365 * day
)

// far is the latest event that was too far ahead to move the clock alone.
type far struct {
	Source string    `json:"source"`
	Event  string    `json:"event"`
	At     time.Time `json:"at,omitzero"`
}

// move moves the clock to the time of an event, if that is not far from it. One
// that is far ahead moves it only where another is there already; what is far
// behind brings it back when nothing else comes any more. A clock.ticked is as late
// as it says: it is published for what is due. A service's record moves nothing.
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
		if !Considered(e.Kind()) { // that may come twice
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

// isRecord reports whether events of a kind are what a service notes about events:
// their time is that of the noting. Where old sessions are imported that is another
// one than that of the work, and far behind it the next session begins.
func isRecord(k events.Kind) bool {
	return k == events.RunSealed || k == events.GapRecorded || k == events.AuditAccessed
}

// passes reports whether an event says that time has passed: a clock.ticked, which is
// published for what is due, or one that is about no run.
func passes(e events.Event, ahead time.Duration) bool {
	return e.Kind() == events.ClockTicked || e.Run == "" && e.Kind() == events.Custom && ahead <= maxAhead
}

// confirmed reports whether e is another event of about that time.
func (f far) confirmed(e events.Event, leap time.Duration) bool {
	another := f.Event != "" && (f.Event != e.ID || f.Source != e.Source)
	return another && e.Time.Sub(f.At).Abs() <= leap
}

// take returns the time at which an event is taken: its own, unless that is absurd, or
// only that of a record.
func (t *Tenant) take(e events.Event) time.Time {
	at := e.Time.UTC()
	if !t.Clock.IsZero() && (at.Sub(t.Clock) > maxAhead || isRecord(e.Kind())) {
		return t.Clock
	}
	return at
}

// after returns the time that is d after at, or forever.
func after(at time.Time, d time.Duration) time.Time {
	if forever.Sub(at) < d {
		return forever
	}
	return at.Add(d)
}

// holdUntil returns until when a failure of a time is held, and when that is to be
// looked at: sooner if the clock has not got there, and perhaps never will.
func (p *pass) holdUntil(at time.Time) (until, look time.Time) {
	until = after(at, p.config.Hold)
	return until, earlier(until, after(p.clock().Clock, p.config.Hold))
}

// reaches reports whether the clock is near a time, or may be.
func (p *pass) reaches(at time.Time) bool {
	return p.ending || at.Sub(p.clock().Clock) <= p.config.Leap
}

package rules

import (
	"slices"
	"strings"
	"time"
)

// The kinds of timers; the kind stands before the "/" of a timer's id.
const (
	holdKind   = "hold"   // ends what is held of a failure or a lineage
	quietKind  = "quiet"  // ends the flapping of an issue
	stallKind  = "stall"  // labels a lineage of which nothing is heard
	digestKind = "digest" // describes a digest anew
)

// HoldTimers is what the ids of the timers that end holds begin with.
const HoldTimers = holdKind + "/"

// endHolds ends what is held until clock, in the order in which that was due, and
// returns the other timers that were.
func (p *pass) endHolds(clock time.Time) (due []Timer) {
	for {
		t, found := p.state.nextTimer(p.tenant)
		if !found || t.At.After(clock) || p.state.err != nil {
			return due
		}
		p.state.clearTimer(p.tenant, t.ID)
		p.now = t.At
		kind, subject, _ := strings.Cut(t.ID, "/")
		switch {
		case kind == holdKind:
			p.endHold(heldSubject(subject))
		case kind == stallKind && !p.silent(subject), kind == quietKind && !p.quiet(subject):
			// It is looked at again later, perhaps before clock.
		default:
			due = append(due, t)
		}
	}
}

// runDue does what time does beside ending holds, as part of the decision f.
func (f *fold) runDue(due []Timer) {
	stamp, now := f.stamp, f.now
	for _, t := range due {
		f.stamp.At, f.now = t.At, t.At
		switch kind, subject, _ := strings.Cut(t.ID, "/"); kind {
		case quietKind:
			f.endFlapping(subject)
		case stallKind:
			f.stall(subject)
		case digestKind:
			f.describe(subject)
		}
	}
	f.stamp, f.now = stamp, now
}

// putOff leaves to the next event what time would have done at one that is held:
// there is no decision yet that it could be part of.
func (p *pass) putOff(due []Timer) {
	for _, t := range due {
		p.state.setTimer(p.tenant, t.ID, t.At)
	}
}

// heldSubject returns what the timer of a hold names behind the number of its
// first incident.
func heldSubject(id string) string {
	_, subject, _ := strings.Cut(id, "/")
	return subject
}

// release ends the tenant's holds as time would, and lets all other timers be.
func (p *pass) release() {
	list := slices.DeleteFunc(p.state.allTimers(p.tenant), func(t Timer) bool {
		return !strings.HasPrefix(t.ID, holdKind+"/")
	})
	for len(list) > 0 && p.state.err == nil {
		t := list[0]
		list = list[1:]
		p.state.clearTimer(p.tenant, t.ID)
		p.now = t.At
		again := p.endHold(heldSubject(strings.TrimPrefix(t.ID, holdKind+"/")))
		if !again.At.IsZero() {
			i, _ := slices.BinarySearchFunc(list, again, Timer.compare)
			list = slices.Insert(list, i, again)
		}
	}
}

package issues

import (
	"slices"
	"strings"
)

// The kinds of timers; the kind stands before the "/" of a timer's id.
const (
	holdKind   = "hold"   // ends what is held of a failure or a lineage
	quietKind  = "quiet"  // ends the flapping of an issue
	stallKind  = "stall"  // labels a lineage of which nothing is heard
	digestKind = "digest" // describes a digest anew
)

// runDue does what time does until the tenant's clock, in the order in which it
// was due. What that does beside ending holds is part of the decision f.
func (p *pass) runDue(f *fold) {
	clock := p.clock().Clock
	for {
		t, found := p.state.nextTimer(p.tenant)
		if !found || t.At.After(clock) || p.state.err != nil {
			return
		}
		p.state.clearTimer(p.tenant, t.ID)
		kind, subject, _ := strings.Cut(t.ID, "/")
		p.now = t.At
		if kind == holdKind {
			p.endHold(heldSubject(subject))
			continue
		}
		stamp := f.stamp
		f.stamp.At = t.At
		switch kind {
		case quietKind:
			f.endFlapping(subject)
		case stallKind:
			f.stall(subject)
		case digestKind:
			f.describe(subject)
		}
		f.stamp = stamp
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

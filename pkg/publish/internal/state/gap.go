// Package state reads and writes small files of an outbox, which are the losses, the published ids,
// and the tail of a shared outbox.
package state

import (
	"slices"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Reasons of lost numbers.
const (
	ReasonShed    = "shed"    // the outbox was full
	ReasonRefused = "refused" // the stream refuses the event
	ReasonDamaged = "damaged" // the record on disk was damaged
	ReasonUnknown = "unknown"
)

// Gap is a range of sequence numbers for one tenant. The events with these numbers are lost.
type Gap struct {
	Tenant string
	events.Range
}

// Gaps lists lost sequence numbers. A gap leaves the list when the stream has acknowledged a
// manifest that lists the numbers as missing.
type Gaps []Gap

// Add adds the gap g. If g directly follows a gap of the same tenant and reason, Add extends that
// gap instead.
func (l *Gaps) Add(g Gap) {
	for i, other := range *l {
		if other.Tenant == g.Tenant && other.Reason == g.Reason && other.Last+1 == g.First {
			(*l)[i].Last = g.Last
			return
		}
	}
	*l = append(*l, g)
}

// Covers reports whether one gap in l contains all numbers of g.
func (l Gaps) Covers(g Gap) bool {
	return slices.ContainsFunc(l, func(o Gap) bool {
		return o.Tenant == g.Tenant && o.First <= g.First && g.Last <= o.Last
	})
}

// Forget removes all gaps of a tenant that end at or before the number last.
func (l *Gaps) Forget(tenant string, last uint64) {
	*l = slices.DeleteFunc(*l, func(g Gap) bool { return g.Tenant == tenant && g.Last <= last })
}

// Ranges splits the missing numbers from first to last of a tenant into ranges. Each range has the
// reason of its gap, or [ReasonUnknown] if no gap contains it.
func (l Gaps) Ranges(tenant string, first, last uint64) []events.Range {
	var list []events.Range
	for at := first; at <= last; {
		r := events.Range{First: at, Last: last, Reason: ReasonUnknown}
		for _, g := range l {
			switch {
			case g.Tenant != tenant || g.Last < at || g.First > last:
			case g.First <= at:
				r = events.Range{First: at, Last: min(g.Last, last), Reason: g.Reason}
			case r.Reason == ReasonUnknown:
				r.Last = min(r.Last, g.First-1)
			}
		}
		list = append(list, r)
		at = r.Last + 1
	}
	return list
}

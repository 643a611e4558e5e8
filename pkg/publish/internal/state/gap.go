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

// Gap is a range of a tenant's numbers that will never arrive.
type Gap struct {
	Tenant string
	events.Range
}

// Gaps lists the known gaps that no acknowledged manifest has listed as missing yet.
type Gaps []Gap

// Add adds g, or merges it with the gap directly before it.
func (l *Gaps) Add(g Gap) {
	for i, other := range *l {
		if other.Tenant == g.Tenant && other.Reason == g.Reason && other.Last+1 == g.First {
			(*l)[i].Last = g.Last
			return
		}
	}
	*l = append(*l, g)
}

// Covers reports whether a single gap contains all of g.
func (l Gaps) Covers(g Gap) bool {
	return slices.ContainsFunc(l, func(o Gap) bool {
		return o.Tenant == g.Tenant && o.First <= g.First && g.Last <= o.Last
	})
}

// Forget removes the gaps of a tenant whose last number is at most last.
func (l *Gaps) Forget(tenant string, last uint64) {
	*l = slices.DeleteFunc(*l, func(g Gap) bool { return g.Tenant == tenant && g.Last <= last })
}

// Ranges divides missing numbers of a tenant into ranges by the reason of their gap.
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

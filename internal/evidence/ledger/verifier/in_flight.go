package verifier

import (
	"slices"
	"time"
)

// A tail has the events of a producer that no manifest lists yet, in the order of their arrival.
type tail []tailEvent

type tailEvent struct {
	sequence uint64
	stored   time.Time
}

func (t *tail) add(sequence uint64, stored time.Time) {
	if len(*t) < maxUnlisted { // the oldest events decide, so later ones can be left out
		*t = append(*t, tailEvent{sequence, stored})
	}
}

// list removes the events up to number, which a manifest has listed.
func (t *tail) list(number uint64) {
	*t = slices.DeleteFunc(*t, func(e tailEvent) bool { return e.sequence <= number })
}

// setFlight writes to p how many events of s are in flight, and since when. now is the time of the
// newest checkpoint. Events are in flight if a manifest can still list them. A producer sends it
// right after its events. Events that wait longer were perhaps forged, or their producer has ended.
//
// If the producer announced an interval, its oldest event in flight may be as old as its last
// manifest may be, but not older than silence. For other producers the latest event counts.
func (p *Producer) setFlight(s *sender, now time.Time, silence time.Duration) {
	if p.Received == 0 || p.Manifests == 0 || s.highest() <= p.Listed {
		return
	}
	for _, r := range s.received {
		if r.Last > p.Listed {
			p.InFlightEvents += r.Last - max(r.First, p.Listed+1) + 1
		}
	}
	p.InFlight = now.Sub(s.lastStored) < silence
	for _, e := range s.tail {
		if p.InFlightSince.IsZero() || e.stored.Before(p.InFlightSince) {
			p.InFlightSince = e.stored.UTC()
		}
	}
	if s.interval > 0 && !p.InFlightSince.IsZero() {
		p.InFlight = now.Sub(p.InFlightSince) <= min(silentIntervals*s.interval, silence)
	}
}

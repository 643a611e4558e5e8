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
	if len(*t) < maxUnlisted { // the oldest events decide
		*t = append(*t, tailEvent{sequence, stored})
	}
}

// list removes the events up to number from the tail, because a manifest has listed them.
func (t *tail) list(number uint64) {
	*t = slices.DeleteFunc(*t, func(e tailEvent) bool { return e.sequence <= number })
}

// setFlight writes to p how many events wait for a manifest, since when, and whether a manifest can
// still list them. Producers send manifests soon after the events, so events that wait longer may
// be forged. now is the time of the newest checkpoint.
//
// If the producer announced an interval for its manifests, the oldest event may wait for
// silentIntervals intervals or for silence, whichever is shorter. For other producers, only the
// latest event must be newer than silence.
func (p *Producer) setFlight(s *sender, now time.Time, silence time.Duration) {
	if p.Received == 0 || p.Manifests == 0 || s.received.highest() <= p.Listed {
		return
	}
	for _, r := range s.received.ranges() {
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

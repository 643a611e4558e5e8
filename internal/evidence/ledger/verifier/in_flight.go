package verifier

import (
	"slices"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
)

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

func (t *tail) list(number uint64) {
	*t = slices.DeleteFunc(*t, func(e tailEvent) bool { return e.sequence <= number })
}

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
		p.InFlight = now.Sub(p.InFlightSince) <= min(ledger.SilentIntervals*s.interval, silence)
	}
}

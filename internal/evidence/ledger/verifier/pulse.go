package verifier

import (
	"cmp"
	"slices"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// silentIntervals is how many of its announced intervals an open producer may let pass without
// a manifest before it counts as silent.
const silentIntervals = 3

// Lost describes a producer.lost event. Such an event records that the outbox of a producer
// was missing when its data directory was opened.
type Lost struct {
	Leaf   int64     `json:"leaf"`
	By     string    `json:"by"` // the producer that recorded it
	Time   time.Time `json:"time,omitzero"`
	Outbox string    `json:"outbox,omitempty"`
	Last   uint64    `json:"last,omitempty"` // last number that is known of it

	at order
}

// pulse is the state that a producer announced last in a signed manifest.
type pulse struct {
	state    events.State
	interval time.Duration
	heard    time.Time
	at       order
}

func (p *pulse) announced(l listing) {
	*p = pulse{heard: time.Unix(0, l.at.Stored).UTC(), at: order{l.at.Epoch, l.at.Stream}}
	if l.signature == signatureValid {
		p.state, p.interval = l.State, time.Duration(l.Interval)*time.Second
	}
}

// isSilentAt reports whether the producer announced that it is open, but at the time now its
// last manifest is too old.
func (p pulse) isSilentAt(now time.Time) bool {
	return p.state == events.StateOpen && now.Sub(p.heard) > silentIntervals*p.interval
}

// hasSettled reports whether the producer s cannot have sent any further events before seal,
// which another producer made. A producer that announces no state is assumed to have ended. So
// is one whose outbox is lost, because its loss is reported separately.
func hasSettled(s *sender, seal order) bool {
	switch {
	case s.lost != nil || s.state == "":
		return true
	case s.state == events.StateClosed:
		return s.highest() <= s.listed
	}
	return seal.before(s.at)
}

// lostOutboxes has the outboxes by the names of their producers.
type lostOutboxes map[string]*Lost

// add stores that the outbox of a producer is lost. A later manifest of the producer cancels
// this, see assign.
func (l lostOutboxes) add(d *events.ProducerLostData, by string, a ledger.Arrival) {
	if len(l) >= maxFindings && l[d.Producer] == nil {
		return
	}
	l[d.Producer] = &Lost{
		Leaf: a.Leaf, By: by, Time: time.Unix(0, a.Stored).UTC(), Outbox: d.Outbox, Last: d.Last, at: order{a.Epoch, a.Stream},
	}
}

// assign assigns the lost outboxes to their producers. It returns an entry for each lost
// outbox whose producer has no record in the ledger.
func (l lostOutboxes) assign(producers map[int64]*sender) (unknown []Producer) {
	known := make(map[string]*sender, len(producers))
	for _, s := range producers {
		known[s.name] = s
	}
	for name, lost := range l {
		switch s := known[name]; {
		case s == nil:
			unknown = append(unknown, Producer{Name: name, Lost: lost})
		case !lost.at.before(s.at):
			s.lost = lost
		}
	}
	slices.SortFunc(unknown, func(a, b Producer) int { return cmp.Compare(a.Name, b.Name) })
	return unknown
}

// pulseOf writes the announced state of s to p. now is the time by which silence is measured.
func pulseOf(s *sender, p *Producer, now time.Time) {
	p.State, p.Lost, p.Interval = s.state, s.lost, uint64(s.interval/time.Second)
	if s.state != "" {
		p.Heard = s.heard
	}
	p.Silent = s.lost == nil && s.isSilentAt(now)
}

// isAbsent reports whether the producer may have events that never arrived, because it is
// silent or its outbox is lost.
func (p Producer) isAbsent() bool { return p.Silent || p.Lost != nil }

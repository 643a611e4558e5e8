package verifier

import (
	"cmp"
	"slices"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Lost describes a producer.lost event. It says that a producer's outbox was missing when its data
// directory was opened.
type Lost struct {
	Leaf   int64     `json:"leaf"`             // leaf of the producer.lost event
	By     string    `json:"by"`               // producer that recorded it
	Time   time.Time `json:"time,omitzero"`    // when the server stored that
	Outbox string    `json:"outbox,omitempty"` // name in its data directory
	Last   uint64    `json:"last,omitempty"`   // last known number of the producer
	Key    string    `json:"key,omitempty"`    // key of the producer

	at order
}

type pulse struct {
	state    events.State
	interval time.Duration // between manifests; kept after the producer closes
	heard    time.Time
	at       order
}

func (p *pulse) announced(l listing) {
	*p = pulse{interval: p.interval, heard: time.Unix(0, l.at.Stored).UTC(), at: order{l.at.Epoch, l.at.Stream}}
	if l.signature != signatureValid {
		return
	}
	p.state = l.State
	if l.Interval > 0 {
		p.interval = time.Duration(l.Interval) * time.Second
	}
}

func (p pulse) isSilentAt(now time.Time) bool {
	return p.state == events.StateOpen && now.Sub(p.heard) > ledger.SilentIntervals*p.interval
}

func settles(s, other *sender, seal order) bool {
	switch {
	case s.standing() < other.standing():
		return false
	case other.lost != nil || other.state == "":
		return true
	case other.state == events.StateClosed:
		return other.received.highest() <= other.listed
	}
	return seal.before(other.at)
}

// A standing says how far a producer has proved its identity. A producer cannot seal the runs of
// producers with a higher standing.
type standing int

const (
	standingUnknown standing = iota
	standingSigning
	standingEnrolled
)

func (s *sender) standing() standing {
	switch {
	case s.enrolment.Enrolled:
		return standingEnrolled
	case s.key != "":
		return standingSigning
	}
	return standingUnknown
}

type lostOutboxes map[lostKey]*Lost

type lostKey struct{ producer, key string }

func (l lostOutboxes) add(d *events.ProducerLostData, by string, a ledger.Arrival) {
	l[lostKey{d.Producer, d.Key}] = &Lost{
		Leaf: a.Leaf, By: by, Time: time.Unix(0, a.Stored).UTC(), Outbox: d.Outbox, Last: d.Last, Key: d.Key, at: order{a.Epoch, a.Stream},
	}
}

func (l lostOutboxes) assign(producers map[int64]*sender) (unknown []Producer) {
	known := make(map[string]*sender, len(producers))
	for _, s := range producers {
		known[s.name] = s
	}
	others := make(map[string]*Lost)
	for of, lost := range l {
		switch s := known[of.producer]; {
		case s == nil:
			others[of.producer] = lost.orLater(others[of.producer])
		case !lost.isEndedBy(s):
			s.lost = lost.orLater(s.lost)
		}
	}
	for name, lost := range others {
		unknown = append(unknown, Producer{Name: name, State: StateLost, Lost: lost})
	}
	slices.SortFunc(unknown, func(a, b Producer) int { return cmp.Compare(a.Name, b.Name) })
	return unknown
}

func (l *Lost) orLater(other *Lost) *Lost {
	if other != nil && l.at.before(other.at) {
		return other
	}
	return l
}

func (l *Lost) isEndedBy(s *sender) bool {
	switch {
	case !l.at.before(s.signed.last):
		return false
	case l.Key != "":
		return s.signed.keys[l.Key]
	}
	return s.enrolment.Enrolled || s.signed.first.before(l.at)
}

type signatures struct {
	first, last order
	keys        map[string]bool
}

func (s *signatures) add(l listing) {
	if l.signature != signatureValid {
		return
	}
	s.last = order{l.at.Epoch, l.at.Stream}
	if s.keys == nil {
		s.first, s.keys = s.last, make(map[string]bool)
	}
	s.keys[l.Key] = true
}

func pulseOf(s *sender, p *Producer, now time.Time) {
	p.State, p.Lost = s.state, s.lost
	if s.state == events.StateOpen {
		p.Interval = uint64(s.interval / time.Second)
	}
	if s.state != "" {
		p.Heard = s.heard
	}
	if s.lost != nil {
		p.State = StateLost
	}
	p.Silent = s.lost == nil && s.isSilentAt(now)
}

func (p Producer) isAbsent() bool { return p.Silent || p.Lost != nil }

package verifier

import (
	"cmp"
	"slices"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// silentIntervals is how many announced intervals an open producer may miss before it counts as
// silent.
const silentIntervals = 3

// Lost describes a producer.lost event. It records that a producer's outbox was missing when
// its data directory was opened.
type Lost struct {
	Leaf   int64     `json:"leaf"`
	By     string    `json:"by"` // producer that recorded it
	Time   time.Time `json:"time,omitzero"`
	Outbox string    `json:"outbox,omitempty"`
	Last   uint64    `json:"last,omitempty"` // last known number of the producer

	at order
}

type pulse struct {
	state    events.State
	interval time.Duration // of its manifests while it is open; stays when it closes
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
	return p.state == events.StateOpen && now.Sub(p.heard) > silentIntervals*p.interval
}

// hasSettled reports whether s cannot have sent further events before seal, which another
// producer made. A producer that announces no state counts as ended. So does one whose outbox
// is lost, because its loss is reported separately.
func hasSettled(s *sender, seal order) bool {
	switch {
	case s.lost != nil || s.state == "":
		return true
	case s.state == events.StateClosed:
		return s.highest() <= s.listed
	}
	return seal.before(s.at)
}

// standing orders producers by what they proved of themselves. A seal only settles events of
// producers with the same or a lower standing. Otherwise any client could seal runs of others.
func (s *sender) standing() int {
	switch {
	case s.enrolment.Enrolled:
		return 2
	case s.key != "":
		return 1
	}
	return 0
}

type lostOutboxes map[string]*Lost

// add stores a lost outbox. If a later manifest of the producer arrives, assign ignores the
// loss.
func (l lostOutboxes) add(d *events.ProducerLostData, by string, a ledger.Arrival) {
	if len(l) >= maxFindings && l[d.Producer] == nil {
		return
	}
	l[d.Producer] = &Lost{
		Leaf: a.Leaf, By: by, Time: time.Unix(0, a.Stored).UTC(), Outbox: d.Outbox, Last: d.Last, at: order{a.Epoch, a.Stream},
	}
}

// assign also returns the lost outboxes of producers without a record in the ledger.
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

func pulseOf(s *sender, p *Producer, now time.Time) {
	p.State, p.Lost = s.state, s.lost
	if s.state == events.StateOpen {
		p.Interval = uint64(s.interval / time.Second)
	}
	if s.state != "" {
		p.Heard = s.heard
	}
	p.Silent = s.lost == nil && s.isSilentAt(now)
}

func (p Producer) isAbsent() bool { return p.Silent || p.Lost != nil }

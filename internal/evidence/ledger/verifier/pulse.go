package verifier

import (
	"cmp"
	"slices"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// silentIntervals is how many announced intervals may pass without a manifest.
const silentIntervals = 3

// Lost is a producer.lost event. The outbox of the producer was missing when its data
// directory was opened.
type Lost struct {
	Leaf   int64     `json:"leaf"`
	By     string    `json:"by"` // the producer that recorded it
	Time   time.Time `json:"time,omitzero"`
	Outbox string    `json:"outbox,omitempty"`
	Last   uint64    `json:"last,omitempty"` // the last known number

	at order
}

// pulse is what a producer announced last. Only its signed manifests count.
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

// isSilentAt reports whether an open producer was not heard of in time.
func (p pulse) isSilentAt(now time.Time) bool {
	return p.state == events.StateOpen && now.Sub(p.heard) > silentIntervals*p.interval
}

// hasSettled reports whether no event of the producer in front of a seal by another
// producer can be missing, because the seal is by the producer that continued the run. A
// producer that announces nothing is believed to have ended.
func hasSettled(s *sender, seal order) bool {
	switch {
	case s.lost != nil || s.state == "":
		return true
	case s.state == events.StateClosed:
		return s.highest() <= s.listed
	}
	return seal.before(s.at)
}

// lose notes that the outbox of a producer is lost, until the producer is heard of again.
func (c *completeness) lose(d *events.ProducerLostData, by string, a ledger.Arrival) {
	if len(c.lost) >= maxFindings && c.lost[d.Producer] == nil {
		return
	}
	if c.lost == nil {
		c.lost = make(map[string]*Lost)
	}
	c.lost[d.Producer] = &Lost{
		Leaf: a.Leaf, By: by, Time: time.Unix(0, a.Stored).UTC(), Outbox: d.Outbox, Last: d.Last, at: order{a.Epoch, a.Stream},
	}
}

// concludeLost assigns the lost outboxes to their producers, and returns those whose
// producers have no record in the ledger.
func (c *completeness) concludeLost() (unknown []Producer) {
	known := make(map[string]*sender, len(c.producers))
	for _, s := range c.producers {
		known[s.name] = s
	}
	for name, lost := range c.lost {
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

// pulseOf fills in what the producer announced.
func pulseOf(s *sender, p *Producer, now time.Time) {
	p.State, p.Lost, p.Interval = s.state, s.lost, uint64(s.interval/time.Second)
	if s.state != "" {
		p.Heard = s.heard
	}
	p.Silent = s.lost == nil && s.isSilentAt(now)
}

// isAbsent reports whether the producer may have sent more events that are not here.
func (p Producer) isAbsent() bool { return p.Silent || p.Lost != nil }

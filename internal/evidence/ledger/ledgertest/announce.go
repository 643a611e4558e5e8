package ledgertest

import (
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

type pulse struct {
	state    events.State
	interval time.Duration
	beats    uint64
}

func (p *pulse) announce(m *events.Manifest) {
	m.State, m.Interval = p.state, uint64(p.interval/time.Second)
	p.beats++
	if m.Last >= m.First || p.state == "" {
		p.beats = 0
	}
	m.Beat = p.beats
}

// Open makes a producer sign its manifests, and announce in them that it sends at least one
// manifest per interval.
func (f *Feed) Open(producer string, interval time.Duration) {
	f.Sign(producer)
	f.Source(producer).pulse = pulse{state: events.StateOpen, interval: interval}
}

// Beat publishes a manifest as a heartbeat of a producer.
func (f *Feed) Beat(producer string) { f.Manifest(producer) }

// Close publishes a manifest which announces that the producer has stopped.
func (f *Feed) Close(producer string) {
	p := &f.Source(producer).pulse
	p.state, p.interval = events.StateClosed, 0
	f.Manifest(producer)
}

// Lose publishes a producer.lost event, with which one producer reports that the outbox of another
// is lost.
func (f *Feed) Lose(by, producer string) { f.LoseKey(by, producer, "") }

// LoseKey publishes a producer.lost event like [Feed.Lose]. The event also contains the public key
// of the producer whose outbox is lost.
func (f *Feed) LoseKey(by, producer, key string) {
	f.Event(by, "", events.ProducerLost, events.ProducerLostData{Producer: producer, Outbox: "http", Key: key})
	f.Manifest(by)
}

package publish

import (
	"fmt"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// entry is an event on its way to the stream.
type entry struct {
	sequence uint64
	id       idHash
	run      string
	kind     events.Kind
	event    []byte
	hash     events.Hash
	sealed   uint64       // of a run.sealed: how many events it counts
	gap      events.Range // of a gap.recorded: what it records
}

// newEntry returns the entry of a record. It aliases the record's event.
func newEntry(it item) entry {
	e := entry{
		sequence: it.sequence, id: it.id, run: it.run, kind: events.Kind(it.kind),
		event: it.event, hash: events.HashOf(it.event),
	}
	switch e.kind { //nolint:exhaustive // the two that the outbox makes
	case events.RunSealed:
		e.sealed = sealedCount(it.record)
	case events.GapRecorded:
		g, _ := gapOf(it.record)
		e.gap = g.Range
	}
	return e
}

// group is a tenant's part of a batch: events in the order of their numbers,
// which the manifest behind them lists.
type group struct {
	tenant  string
	entries []entry
	refused *events.Range // a number that the manifest lists as missing behind them
}

// empty tells whether the group has nothing to say.
func (g *group) empty() bool { return len(g.entries) == 0 && g.refused == nil }

// trim drops what is settled up to last.
func (g *group) trim(last uint64) {
	for len(g.entries) > 0 && g.entries[0].sequence <= last {
		g.entries = g.entries[1:]
	}
	if g.refused != nil && g.refused.Last <= last {
		g.refused = nil
	}
}

// manifest returns the manifest that closes the group, behind the chain ch.
func (f *forwarder) manifest(g *group, ch *chain) events.Manifest {
	m := events.Manifest{
		Version: 1, Tenant: g.tenant, Producer: f.producer,
		First: ch.Last + 1, Prev: ch.Prev, Count: uint64(len(g.entries)),
	}
	next := m.First
	hashes := make([]events.Hash, len(g.entries))
	for i, e := range g.entries {
		if e.sequence > next {
			m.Missing = append(m.Missing, f.outbox.missing(g.tenant, next, e.sequence-1)...)
		}
		hashes[i] = e.hash
		next = e.sequence + 1
	}
	if r := g.refused; r != nil {
		if r.First > next {
			m.Missing = append(m.Missing, f.outbox.missing(g.tenant, next, r.First-1)...)
		}
		m.Missing = append(m.Missing, *r)
		next = r.Last + 1
	}
	m.Last = next - 1
	m.Root = events.BatchRoot(hashes).String()
	return m
}

// messages returns the messages of the group, its manifest last: on a full disk
// a batch can stop half-way, and a manifest in front would then list events
// that never came.
func (f *forwarder) messages(g *group, m events.Manifest, fence uint64) ([]message, error) {
	list := make([]message, 0, len(g.entries)+1)
	for _, e := range g.entries {
		subject, err := f.outbox.space.Event(g.tenant, f.producer, e.run, e.kind)
		if err != nil {
			return nil, fmt.Errorf("subject of #%d: %w", e.sequence, err)
		}
		list = append(list, message{subject: subject, data: e.event})
	}
	subject, err := f.outbox.space.Chain(g.tenant, f.producer)
	if err != nil {
		return nil, fmt.Errorf("subject of manifest: %w", err)
	}
	return append(list, message{subject: subject, data: m.Encode(), fenced: true, fence: fence}), nil
}

// lacks tells whether m lists a number as missing.
func lacks(m events.Manifest, sequence uint64) bool {
	for _, r := range m.Missing {
		if r.First <= sequence && sequence <= r.Last {
			return true
		}
	}
	return false
}

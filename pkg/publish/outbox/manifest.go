package outbox

import (
	"fmt"

	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/cursor"
	"github.com/hooktrail/hooktrail/pkg/publish/internal/segment"
	"github.com/hooktrail/hooktrail/pkg/publish/transport"
)

type entry struct {
	sequence uint64
	run      string
	kind     events.Kind
	event    []byte
	hash     events.Hash
	sealed   uint64       // events that a run.sealed event counts
	gap      events.Range // declared as lost by a gap.recorded event
}

func newEntry(it segment.Item) entry {
	e := entry{
		sequence: it.Sequence, run: it.Run, kind: events.Kind(it.Kind),
		event: it.Event, hash: events.HashOf(it.Event),
	}
	switch e.kind { //nolint:exhaustive // the two that the outbox makes
	case events.RunSealed:
		e.sealed = sealedCount(it.Record)
	case events.GapRecorded:
		g, _ := gapOf(it.Record)
		e.gap = g.Range
	}
	return e
}

type group struct {
	tenant  string
	entries []entry
	bytes   int
	refused *events.Range // missing numbers after the events
	rekeys  bool          // the manifest announces the next key
	word    events.State  // announced in a manifest without events
}

func (g *group) isEmpty() bool {
	return len(g.entries) == 0 && g.refused == nil && !g.rekeys && g.word == ""
}

func (g *group) trim(last uint64) {
	for len(g.entries) > 0 && g.entries[0].sequence <= last {
		g.entries = g.entries[1:]
	}
	if g.refused != nil && g.refused.Last <= last {
		g.refused = nil
	}
}

type missingFunc func(tenant string, first, last uint64) []events.Range

func (g *group) manifest(producer string, ch cursor.Chain, missing missingFunc) events.Manifest {
	m := events.Manifest{
		Version: 1, Tenant: g.tenant, Producer: producer,
		First: ch.Last + 1, Prev: ch.Prev, Count: uint64(len(g.entries)),
	}
	next := m.First
	hashes := make([]events.Hash, len(g.entries))
	for i, e := range g.entries {
		if e.sequence > next {
			m.Missing = append(m.Missing, missing(g.tenant, next, e.sequence-1)...)
		}
		hashes[i] = e.hash
		next = e.sequence + 1
	}
	if r := g.refused; r != nil {
		if r.First > next {
			m.Missing = append(m.Missing, missing(g.tenant, next, r.First-1)...)
		}
		m.Missing = append(m.Missing, *r)
		next = r.Last + 1
	}
	m.Last = next - 1
	m.Root = events.BatchRoot(hashes).String()
	return m
}

// messages puts the manifest last, because a server with a full disk may store only the first
// messages.
func (g *group) messages(space subjects.Space, m events.Manifest, fence uint64) ([]transport.Message, error) {
	list := make([]transport.Message, 0, len(g.entries)+1)
	for _, e := range g.entries {
		subject, err := space.Event(g.tenant, m.Producer, e.run, e.kind)
		if err != nil {
			return nil, fmt.Errorf("subject of #%d: %w", e.sequence, err)
		}
		list = append(list, transport.Message{Subject: subject, Data: e.event})
	}
	subject, err := space.Chain(g.tenant, m.Producer)
	if err != nil {
		return nil, fmt.Errorf("subject of manifest: %w", err)
	}
	return append(list, transport.Message{Subject: subject, Data: m.Encode(), IsFenced: true, Fence: fence}), nil
}

func lists(m events.Manifest, sequence uint64) bool {
	for _, r := range m.Missing {
		if r.First <= sequence && sequence <= r.Last {
			return true
		}
	}
	return false
}

package projection

import (
	"iter"
	"maps"
)

// Mark is the highest sequence of one producer that was counted for one tenant.
type Mark struct {
	Tenant   string
	Producer string
	Sequence uint64
}

// Marks are the high-water marks of all producers, by which copies are told
// from new events: a half-stored batch leaves orphans in the stream that come
// again with the whole one. The zero Marks are empty. They belong to one
// goroutine.
//
// What Repeat raises is provisional until Commit, so that a batch that could
// not be stored is not taken for a copy when it comes again.
type Marks struct {
	kept    map[source]uint64
	changed map[source]uint64
}

type source struct{ tenant, producer string }

// Repeat reports whether the event with this sequence was counted already, and
// counts it if not. Sequence 0 stands for events that no outbox numbered: they
// cannot be told apart and are never repeats.
func (m *Marks) Repeat(tenant, producer string, sequence uint64) bool {
	if sequence == 0 {
		return false
	}
	s := source{tenant, producer}
	have, ok := m.changed[s]
	if !ok {
		have = m.kept[s]
	}
	if sequence <= have {
		return true
	}
	if m.changed == nil {
		m.changed = make(map[source]uint64)
	}
	m.changed[s] = sequence
	return false
}

// Load sets the committed marks, forgetting all others.
func (m *Marks) Load(marks iter.Seq[Mark]) {
	*m = Marks{kept: make(map[source]uint64)}
	for k := range marks {
		m.kept[source{k.Tenant, k.Producer}] = k.Sequence
	}
}

// Changed yields the marks that were raised since the last Commit or Rollback.
func (m *Marks) Changed() iter.Seq[Mark] {
	return func(yield func(Mark) bool) {
		for s, n := range m.changed {
			if !yield(Mark{s.tenant, s.producer, n}) {
				return
			}
		}
	}
}

// Commit keeps what was raised: it is on disk.
func (m *Marks) Commit() {
	if m.kept == nil {
		m.kept = make(map[source]uint64, len(m.changed))
	}
	maps.Copy(m.kept, m.changed)
	clear(m.changed)
}

// Rollback forgets what was raised since the last Commit.
func (m *Marks) Rollback() { clear(m.changed) }

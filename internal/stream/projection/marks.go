package projection

import (
	"iter"
	"maps"
)

// Mark is the highest counted sequence of one producer of one tenant.
type Mark struct {
	Tenant   string
	Producer string
	Sequence uint64
}

// Marks are the high-water marks of all producers. They distinguish new events from
// repeats, which a publisher causes when it sends a partly stored batch again. The zero
// Marks are empty. Only one goroutine may use Marks.
//
// Changes by Repeat are provisional until Commit.
type Marks struct {
	committed map[source]uint64
	changed   map[source]uint64
}

type source struct{ tenant, producer string }

// Repeat reports whether the event with this sequence was counted before, and counts it
// if not. Events with sequence 0 have no number and are never repeats.
func (m *Marks) Repeat(tenant, producer string, sequence uint64) bool {
	if sequence == 0 {
		return false
	}
	s := source{tenant, producer}
	have, ok := m.changed[s]
	if !ok {
		have = m.committed[s]
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

// Load replaces all marks by committed marks.
func (m *Marks) Load(marks iter.Seq[Mark]) {
	*m = Marks{committed: make(map[source]uint64)}
	for k := range marks {
		m.committed[source{k.Tenant, k.Producer}] = k.Sequence
	}
}

// Changed yields the marks that changed since the last Commit or Rollback.
func (m *Marks) Changed() iter.Seq[Mark] {
	return func(yield func(Mark) bool) {
		for s, n := range m.changed {
			if !yield(Mark{s.tenant, s.producer, n}) {
				return
			}
		}
	}
}

// Commit makes the changes permanent. The caller has stored them on disk.
func (m *Marks) Commit() {
	if m.committed == nil {
		m.committed = make(map[source]uint64, len(m.changed))
	}
	maps.Copy(m.committed, m.changed)
	clear(m.changed)
}

// Rollback reverts the changes since the last Commit.
func (m *Marks) Rollback() { clear(m.changed) }

package projection

import (
	"iter"
	"maps"
)

// Mark is the highest sequence number of a producer's events that a projection has counted.
type Mark struct {
	Tenant   string
	Producer string
	Sequence uint64
}

// Marks recognises events that a publisher has sent twice. It stores the highest sequence number of
// each producer that was counted. The zero Marks is empty. Only one goroutine may use a Marks.
//
// [Marks.Repeat] makes provisional changes, which [Marks.Commit] confirms.
type Marks struct {
	committed map[source]uint64
	changed   map[source]uint64
}

type source struct{ tenant, producer string }

// Repeat reports whether the event with this sequence number was counted before. If not, it counts
// the event. It returns false for events without a sequence number, which have sequence 0.
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

// Load replaces the contents of m with marks that were read from disk.
func (m *Marks) Load(marks iter.Seq[Mark]) {
	*m = Marks{committed: make(map[source]uint64)}
	for k := range marks {
		m.committed[source{k.Tenant, k.Producer}] = k.Sequence
	}
}

// Changed yields the marks that have changed since the last Commit.
func (m *Marks) Changed() iter.Seq[Mark] {
	return func(yield func(Mark) bool) {
		for s, n := range m.changed {
			if !yield(Mark{s.tenant, s.producer, n}) {
				return
			}
		}
	}
}

// Commit makes the changes by Repeat permanent. The caller must have stored them on disk before.
func (m *Marks) Commit() {
	if m.committed == nil {
		m.committed = make(map[source]uint64, len(m.changed))
	}
	maps.Copy(m.committed, m.changed)
	clear(m.changed)
}

// Rollback discards the changes by Repeat since the last Commit.
func (m *Marks) Rollback() { clear(m.changed) }

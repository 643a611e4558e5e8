package rulestest

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/hooktrail/hooktrail/internal/tracking/rules"
)

type memory struct {
	records map[rules.Key][]byte
	timers  map[[2]string]rules.Timer
}

func newMemory() *memory {
	return &memory{make(map[rules.Key][]byte), make(map[[2]string]rules.Timer)}
}

// Load implements [rules.Store].
func (m *memory) Load(k rules.Key) ([]byte, error) { return m.records[k], nil }

// Timers implements [rules.Store].
func (m *memory) Timers(tenant string, at time.Time, limit int) ([]rules.Timer, error) {
	var due []rules.Timer
	for t := range maps.Values(m.timers) {
		if t.Tenant == tenant && !t.At.After(at) {
			due = append(due, t)
		}
	}
	slices.SortFunc(due, func(a, b rules.Timer) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
	return due[:min(limit, len(due))], nil
}

func (m *memory) apply(c rules.Changes) map[rules.Key][]byte {
	changed := make(map[rules.Key][]byte)
	for _, r := range c.Records {
		if r.JSON == nil {
			delete(m.records, r.Key)
			continue
		}
		m.records[r.Key] = r.JSON
		if r.Kind == rules.IssueKind {
			changed[r.Key] = r.JSON
		}
	}
	for _, t := range c.Cleared {
		delete(m.timers, [2]string{t.Tenant, t.ID})
	}
	for _, t := range c.Set {
		m.timers[[2]string{t.Tenant, t.ID}] = t
	}
	return changed
}

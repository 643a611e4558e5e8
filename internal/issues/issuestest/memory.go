package issuestest

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/hooktrail/hooktrail/internal/issues"
)

// memory is a Store of maps.
type memory struct {
	records map[issues.Key][]byte
	timers  map[[2]string]issues.Timer
}

func newMemory() *memory {
	return &memory{make(map[issues.Key][]byte), make(map[[2]string]issues.Timer)}
}

// Load implements [issues.Store].
func (m *memory) Load(k issues.Key) ([]byte, error) { return m.records[k], nil }

// Timers implements [issues.Store].
func (m *memory) Timers(tenant string, at time.Time, limit int) ([]issues.Timer, error) {
	var due []issues.Timer
	for t := range maps.Values(m.timers) {
		if t.Tenant == tenant && !t.At.After(at) {
			due = append(due, t)
		}
	}
	slices.SortFunc(due, func(a, b issues.Timer) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) })
	return due[:min(limit, len(due))], nil
}

// apply stores changes, and returns the issues among them.
func (m *memory) apply(c issues.Changes) map[issues.Key][]byte {
	changed := make(map[issues.Key][]byte)
	for _, r := range c.Records {
		if r.JSON == nil {
			delete(m.records, r.Key)
			continue
		}
		m.records[r.Key] = r.JSON
		if r.Kind == issues.IssueKind {
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

package rules

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

type records struct {
	state  *State
	tenant string
}

func (r records) clock() *Tenant { return tenants.edit(r, "") }

func (r records) setTimer(id string, at time.Time) { r.state.setTimer(r.tenant, id, at) }

func (r records) clearTimer(id string) { r.state.clearTimer(r.tenant, id) }

type register struct {
	Tenants []string `json:"tenants"` // sorted
}

var registers = table[register]{"tenants", func(r *register) { r.Tenants = slices.Clone(r.Tenants) }}

// The methods of a table return no errors. If the store fails, the whole Apply fails.
type table[T any] struct {
	kind string
	// unshare clones the slices in a copy of a record, so that changes do not affect the original.
	unshare func(*T)
}

// get returns nil for a missing record. The caller must not change the record.
func (t table[T]) get(r records, id string) *T {
	return t.in(t.cell(r.state, Key{r.tenant, t.kind, id}))
}

func (t table[T]) view(r records, id string) *T {
	if value := t.get(r, id); value != nil {
		return value
	}
	return new(T)
}

func (t table[T]) in(c *cell) *T {
	value, _ := c.value.(*T)
	return value
}

// edit returns a copy that the caller may change until the current Apply ends.
func (t table[T]) edit(r records, id string) *T {
	s, key := r.state, Key{r.tenant, t.kind, id}
	old := t.in(t.cell(s, key))
	if _, copied := s.before[key]; copied && old != nil {
		return old
	}
	value := new(T)
	if old != nil {
		*value = *old
	}
	if t.unshare != nil {
		t.unshare(value)
	}
	t.put(s, key, value)
	return value
}

func (t table[T]) drop(r records, id string) {
	key := Key{r.tenant, t.kind, id}
	if t.cell(r.state, key).value != nil {
		t.put(r.state, key, nil)
	}
}

func (t table[T]) put(s *State, key Key, value any) {
	c := s.cells[key]
	if _, copied := s.before[key]; !copied {
		s.before[key] = *c
	}
	*c = cell{value: value, changed: true}
}

func (t table[T]) cell(s *State, key Key) *cell {
	if c := s.cells[key]; c != nil {
		return c
	}
	c := new(cell)
	s.cells[key] = c
	if s.store == nil {
		return c
	}
	value, err := t.load(s.store, key)
	if err != nil {
		s.unread = append(s.unread, key)
		s.fail(err)
	}
	if value != nil {
		c.value = value
	}
	return c
}

func (t table[T]) load(store Store, key Key) (*T, error) {
	data, err := store.Load(key)
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", key.Kind, err)
	}
	if data == nil {
		return nil, nil //nolint:nilnil // the record does not exist
	}
	value := new(T)
	if err := json.Unmarshal(data, value); err != nil {
		return nil, fmt.Errorf("decode %s: %w", key.Kind, err)
	}
	return value, nil
}

package rules

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"
)

// Key names one record of a tenant's state.
type Key struct{ Tenant, Kind, ID string }

// Compare orders keys by tenant, kind and id.
func (k Key) Compare(other Key) int {
	return cmp.Or(cmp.Compare(k.Tenant, other.Tenant), cmp.Compare(k.Kind, other.Kind), cmp.Compare(k.ID, other.ID))
}

// IssueKind is the kind of the records that are an [Issue] each.
const IssueKind = "issue"

// Store has the records and timers that a [State] does not hold in memory. It
// need not know what the State has changed since: the State looks there first.
type Store interface {
	// Load returns the JSON of a record, nil if there is none.
	Load(Key) ([]byte, error)
	// Timers returns the tenant's timers that are due at or before at, earliest
	// first and by id where they are due together, at most limit.
	Timers(tenant string, at time.Time, limit int) ([]Timer, error)
}

// Timer is something that time alone does, unless it is cleared before.
type Timer struct {
	Tenant string
	ID     string // unique per tenant
	At     time.Time
}

func (t Timer) compare(other Timer) int {
	return cmp.Or(t.At.Compare(other.At), cmp.Compare(t.ID, other.ID))
}

// Stored is a record as it is stored.
type Stored struct {
	Key
	JSON []byte // nil: there is no such record any more
}

// Changes are what a State has changed: to be stored all together, with the
// position in the stream that they stand for. Equal changes are in equal order.
type Changes struct {
	Records []Stored
	Set     []Timer // in the place of what was set under their id
	Cleared []Timer // there may be none under their id; At is zero
}

// State is what the heuristics know: what it has loaded of its [Store], and what
// followed from the events that were applied. It holds what these events
// touched; make another to forget that. The zero State has no Store, knows
// nothing, and is ready to use. It is not safe for concurrent use.
type State struct {
	back   Store
	cells  map[Key]*cell
	queues map[string]*queue

	// Of the Apply in progress.
	before map[Key]cell // the cells it changed, as they were
	undo   []func()     // what puts the timers back, the last first
	unread []Key        // the cells that the store failed to fill
	err    error        // the first of back
}

// cell is where a State keeps a record.
type cell struct {
	value   any  // a pointer to the record, which nothing changes after Apply; nil: there is none
	changed bool // since the last Changes
}

// NewState returns the state that is in back. Without back it is empty, and
// keeps all in memory.
func NewState(back Store) *State { return &State{back: back} }

// atomically runs fn, and takes all back that fn changed if it or the store fails.
func (s *State) atomically(fn func() error) error {
	if s.cells == nil {
		s.cells, s.queues = make(map[Key]*cell), make(map[string]*queue)
	}
	s.before, s.undo, s.unread, s.err = make(map[Key]cell), nil, nil, nil
	err := fn()
	if s.err != nil {
		err = s.err
	}
	if err == nil {
		return nil
	}
	for key, c := range s.before {
		*s.cells[key] = c
	}
	for _, key := range s.unread {
		delete(s.cells, key)
	}
	for _, undo := range slices.Backward(s.undo) {
		undo()
	}
	return err
}

// fail keeps the first error of the store: what is read after it is empty, and
// comes to nothing.
func (s *State) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// Issues returns the issues that s holds, by id.
func (s *State) Issues() []Issue {
	var list []Issue
	for key, c := range s.cells {
		if issue, ok := c.value.(*Issue); ok && key.Kind == IssueKind {
			list = append(list, *issue)
		}
	}
	slices.SortFunc(list, func(a, b Issue) int { return cmp.Compare(a.ID, b.ID) })
	return list
}

// Changes returns what was changed since the last call, or since s was made.
func (s *State) Changes() Changes {
	var c Changes
	for key, cell := range s.cells {
		if cell.changed {
			c.Records = append(c.Records, Stored{key, encode(cell.value)})
			cell.changed = false
		}
	}
	slices.SortFunc(c.Records, func(a, b Stored) int { return a.Compare(b.Key) })
	for _, tenant := range slices.Sorted(maps.Keys(s.queues)) {
		s.queues[tenant].changes(tenant, &c)
	}
	return c
}

// encode returns the stored form of a record.
func encode(value any) []byte {
	if value == nil {
		return nil
	}
	data, err := json.Marshal(value)
	if err != nil { // cannot happen: records are texts, numbers and times of events
		return []byte("null")
	}
	return data
}

// table reads and changes the records of one kind. What the store fails with
// makes the Apply in progress fail.
type table[T any] struct {
	kind string
	// own gives a copy of a record slices and maps of its own; nil: it has none.
	own func(*T)
}

// get returns a record, which must not be changed, or nil if there is none.
func (t table[T]) get(s *State, tenant, id string) *T {
	return t.in(t.cell(s, Key{tenant, t.kind, id}))
}

// in returns the record in a cell, nil if there is none.
func (t table[T]) in(c *cell) *T {
	value, _ := c.value.(*T)
	return value
}

// edit returns a record for the Apply in progress to change, a new one if there
// is none.
func (t table[T]) edit(s *State, tenant, id string) *T {
	key := Key{tenant, t.kind, id}
	old := t.in(t.cell(s, key))
	if _, mine := s.before[key]; mine && old != nil {
		return old
	}
	value := new(T)
	if old != nil {
		*value = *old
	}
	if t.own != nil {
		t.own(value)
	}
	t.put(s, key, value)
	return value
}

// drop forgets a record.
func (t table[T]) drop(s *State, tenant, id string) {
	key := Key{tenant, t.kind, id}
	if t.cell(s, key).value != nil {
		t.put(s, key, nil)
	}
}

func (t table[T]) put(s *State, key Key, value any) {
	c := s.cells[key]
	if _, known := s.before[key]; !known {
		s.before[key] = *c
	}
	*c = cell{value: value, changed: true}
}

// cell returns where a record is kept, loaded if it was not.
func (t table[T]) cell(s *State, key Key) *cell {
	if c := s.cells[key]; c != nil {
		return c
	}
	c := new(cell)
	s.cells[key] = c
	if s.back == nil {
		return c
	}
	value, err := t.load(s.back, key)
	if err != nil {
		s.unread = append(s.unread, key)
		s.fail(err)
	}
	if value != nil {
		c.value = value
	}
	return c
}

// load returns a record of the store, nil if there is none.
func (t table[T]) load(back Store, key Key) (*T, error) {
	data, err := back.Load(key)
	if err != nil {
		return nil, fmt.Errorf("load %s: %w", key.Kind, err)
	}
	if data == nil {
		return nil, nil //nolint:nilnil // there is none
	}
	value := new(T)
	if err := json.Unmarshal(data, value); err != nil {
		return nil, fmt.Errorf("decode %s: %w", key.Kind, err)
	}
	return value, nil
}

package rules

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// State caches the records that events touched, and loads others from its [Store]. To free the
// memory, make a new State. The zero State is empty and has no Store. A State is not safe for
// concurrent use.
type State struct {
	store  Store
	cells  map[Key]*cell
	queues map[string]*queue

	// The remaining fields belong to the current Apply.
	before map[Key]cell // the old content of changed cells
	undo   []func()     // restore the timers, in reverse order
	unread []Key        // cells that could not be loaded
	err    error        // first error of the Store
}

type cell struct {
	value   any  // pointer to the record, immutable after Apply; nil if it does not exist
	changed bool // since the last Changes
}

// NewState returns the state in store. Without a store, the State keeps everything in memory.
func NewState(store Store) *State { return &State{store: store} }

// Considered reports whether every event of kind k gets a decision.
func Considered(k events.Kind) bool {
	return strings.HasPrefix(string(k), "run.") || k == events.StepFinished || k == events.Error ||
		k == events.IssueEdited || k == events.ClockTicked
}

// Apply folds e into s and returns the new decisions: on e, if e is considered, new, and not in
// its grace period, or if due timers changed issues, and on earlier failures whose grace period
// has ended. If the store fails or the data does not match the kind of e, s is unchanged.
func (s *State) Apply(e events.Event, c Config) (decisions []Decision, err error) {
	if e.Kind() == events.IssueDecided {
		return nil, nil
	}
	err = s.atomically(func() error {
		p := newPass(s, &c, e.Tenant)
		err := p.apply(e)
		decisions = p.decisions
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("apply %s %s: %w", e.Kind(), e.ID, err)
	}
	return decisions, nil
}

// Release ends all grace periods at their regular times, and returns the decisions. It runs no
// other timer. Call it when no more events will come.
func (s *State) Release(c Config) (decisions []Decision, err error) {
	err = s.atomically(func() error {
		r := registers.get(records{state: s}, "")
		if r == nil {
			return nil
		}
		for _, tenant := range r.Tenants {
			p := newPass(s, &c, tenant)
			p.release()
			decisions = append(decisions, p.decisions...)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("release: %w", err)
	}
	return decisions, nil
}

// atomically runs fn. If fn or the store fails, it restores the previous state.
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

// fail stores the first error of the store, so that atomically discards the result.
func (s *State) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// Issues returns the issues in memory, ordered by id.
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

// Changes returns the changes since the last call.
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

func encode(value any) []byte {
	if value == nil {
		return nil
	}
	data, err := json.Marshal(value)
	if err != nil { // cannot happen: records have texts, numbers and valid times
		return []byte("null")
	}
	return data
}

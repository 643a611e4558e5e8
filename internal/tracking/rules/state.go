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

// A State contains the records on which the rules base their decisions. It loads a record from its
// [Store] at the first use. The zero State is empty and has no Store. A State is not safe for
// concurrent use.
type State struct {
	store  Store
	cells  map[Key]*cell
	queues map[string]*queue

	// The following fields are used only during one call of Apply or Release.
	before map[Key]cell // content of the changed cells before the call
	undo   []func()     // functions that restore the timers in reverse order
	unread []Key        // cells that could not be loaded
	err    error        // first error of the Store
}

type cell struct {
	value   any  // pointer to the record, or nil if it does not exist. Immutable after Apply
	changed bool // changed since the last call of Changes
}

// NewState returns a State that loads records from store. With nil, all records stay in memory.
func NewState(store Store) *State { return &State{store: store} }

// Considered reports whether the rules make a decision about every event of this kind.
func Considered(k events.Kind) bool {
	return strings.HasPrefix(string(k), "run.") || k == events.StepFinished || k == events.Error ||
		k == events.IssueEdited || k == events.ClockTicked
}

// IsRecognised reports whether a State itself ignores a repeated event of this kind, because it
// knows the event id. For other kinds, the caller must detect repetitions by sequence numbers.
func IsRecognised(k events.Kind) bool {
	switch k { //nolint:exhaustive // the other kinds only move the clock
	case events.ToolBefore, events.Approval, events.ToolResult, events.IssueDecided, events.AuditAccessed:
		return true
	}
	return Considered(k)
}

// Apply applies the rules to the event e and returns the new decisions. They are about e, and about
// earlier failures that have waited long enough for a success. After an error, s is unchanged.
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

// Release decides about all failures that still wait for a success. Call it at the end of a
// complete history. No other timers are run.
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

func (s *State) fail(err error) {
	if s.err == nil {
		s.err = err
	}
}

// Issues returns the issues that are in memory, ordered by id. It loads none from the Store.
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

// Changes returns the records and timers that have changed since the previous call.
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
	if err != nil { // cannot happen, because records have only texts, numbers and valid times
		return []byte("null")
	}
	return data
}

package rules

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"time"
)

type queue struct {
	here     map[string]time.Time // times of the timers that changed in memory. Zero means cleared
	changed  map[string]bool      // ids that have changed since the last call of Changes
	set      []Timer              // timers in memory, earliest first
	ahead    []Timer              // timers read from the store, earliest first
	complete bool                 // the store has no timers after the timers in ahead
}

var forever = time.Date(9999, 12, 31, 23, 59, 59, 999999999, time.UTC)

const readAhead = 64

func (s *State) queue(tenant string) *queue {
	q := s.queues[tenant]
	if q == nil {
		q = &queue{here: make(map[string]time.Time), changed: make(map[string]bool), complete: s.store == nil}
		s.queues[tenant] = q
	}
	return q
}

func (s *State) setTimer(tenant, id string, at time.Time) {
	at = at.UTC()
	if at.IsZero() { // zero would clear the timer
		at = at.Add(1)
	}
	s.changeTimer(tenant, id, at)
}

func (s *State) clearTimer(tenant, id string) {
	s.changeTimer(tenant, id, time.Time{})
}

func (s *State) changeTimer(tenant, id string, at time.Time) {
	q := s.queue(tenant)
	old, present := q.here[id]
	changed := q.changed[id]
	q.put(Timer{tenant, id, old}, at)
	s.undo = append(s.undo, func() {
		q.put(Timer{tenant, id, at}, old)
		if !present {
			delete(q.here, id)
		}
		if !changed {
			delete(q.changed, id)
		}
		q.ahead, q.complete = nil, s.store == nil
	})
}

func (q *queue) put(old Timer, at time.Time) {
	if i, found := slices.BinarySearchFunc(q.set, old, Timer.compare); found {
		q.set = slices.Delete(q.set, i, i+1)
	}
	q.here[old.ID], q.changed[old.ID] = at, true
	if at.IsZero() {
		return
	}
	moved := Timer{old.Tenant, old.ID, at}
	i, _ := slices.BinarySearchFunc(q.set, moved, Timer.compare)
	q.set = slices.Insert(q.set, i, moved)
}

func (s *State) nextTimer(tenant string) (Timer, bool) {
	q := s.queue(tenant)
	q.skip()
	if len(q.ahead) == 0 && !q.complete {
		s.readTimers(tenant, q)
	}
	switch {
	case len(q.ahead) == 0 && len(q.set) == 0:
		return Timer{}, false
	case len(q.ahead) == 0 || len(q.set) > 0 && q.set[0].compare(q.ahead[0]) < 0:
		return q.set[0], true
	}
	return q.ahead[0], true
}

func (s *State) readTimers(tenant string, q *queue) {
	limit := len(q.here) + readAhead
	list, err := s.store.Timers(tenant, forever, limit)
	if err != nil {
		s.fail(fmt.Errorf("load timers: %w", err))
		return
	}
	q.ahead, q.complete = list, len(list) < limit
	q.skip()
}

func (s *State) allTimers(tenant string) []Timer {
	q := s.queue(tenant)
	var list []Timer
	if s.store != nil {
		var err error
		if list, err = s.store.Timers(tenant, forever, math.MaxInt32); err != nil {
			s.fail(fmt.Errorf("load timers: %w", err))
			return nil
		}
	}
	list = slices.DeleteFunc(list, func(t Timer) bool { _, changed := q.here[t.ID]; return changed })
	list = append(list, q.set...)
	slices.SortFunc(list, Timer.compare)
	return list
}

func (q *queue) skip() {
	for len(q.ahead) > 0 {
		if _, changed := q.here[q.ahead[0].ID]; !changed {
			return
		}
		q.ahead = q.ahead[1:]
	}
}

func (q *queue) changes(tenant string, c *Changes) {
	for _, id := range slices.Sorted(maps.Keys(q.changed)) {
		if at := q.here[id]; at.IsZero() {
			c.Cleared = append(c.Cleared, Timer{Tenant: tenant, ID: id})
		} else {
			c.Set = append(c.Set, Timer{tenant, id, at})
		}
	}
	clear(q.changed)
}

package ledger

import (
	"context"
	"iter"
	"strconv"
	"time"
)

// Selection says which records are meant. The zero value means all of them.
type Selection struct {
	Run    string    // only records of this run; empty: of all, and of none
	From   time.Time // only what has this time or a later one; zero: from the first
	To     time.Time // only what has an earlier time; zero: to the last
	Events bool      // only events: no manifests, conflicts and messages in quarantine
	Before int64     // only leaves with a lower index; 0: all
}

// Select yields the selected records in the order of the tree. From and To are
// compared with the times that the events say of themselves; what has none, such
// as a manifest, lies in no range of time.
func (r *Reader) Select(ctx context.Context, s Selection) iter.Seq2[Entry, error] {
	where, args := s.where()
	return r.pages(ctx, -1, where, args...)
}

// where returns the condition on l, a row of leaves, and its parameters from ?4.
func (s Selection) where() (where string, args []any) {
	add := func(condition string, value any) {
		args = append(args, value)
		where += condition + "?" + strconv.Itoa(3+len(args))
	}
	if s.Run != "" {
		add(" AND l.run = (SELECT run FROM runs WHERE name = ", s.Run)
		where += ")"
	}
	// All times of leaves have the same length and zone: their order is that of text.
	if !s.From.IsZero() {
		add(" AND l.time >= ", formatTime(s.From))
	}
	if !s.To.IsZero() {
		add(" AND l.time <> '' AND l.time < ", formatTime(s.To))
	}
	if s.Before > 0 {
		add(" AND l.leaf < ", s.Before)
	}
	if s.Events {
		where += " AND l.class = 'event'"
	}
	return where, args
}

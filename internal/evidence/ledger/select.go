package ledger

import (
	"context"
	"iter"
	"strconv"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Selection says which records are meant. The zero value means all of them.
type Selection struct {
	Run    string    // only records of this run; empty: of all, and of none
	From   time.Time // only what has this time or a later one; zero: from the first
	To     time.Time // only what has an earlier time; zero: to the last
	Events bool      // only events: no manifests, conflicts and messages in quarantine
	Before int64     // only leaves with a lower index; 0: all

	listed []listed // the manifests of these too, beside what has the run
	orders bool     // the orders too that destroyed records of what is selected
	keys   bool     // and those that changed the key
}

// IsAll reports whether every record is meant, but for those from Before on.
func (s Selection) IsAll() bool {
	return s.Run == "" && s.From.IsZero() && s.To.IsZero() && !s.Events
}

// listed are the manifests of a producer whose last numbers are in a range.
type listed struct{ producer, first, last int64 }

// Select yields the selected records in the order of the tree. From and To are
// compared with the times that the events say of themselves; what has none, such
// as a manifest, lies in no range of time.
func (r *Reader) Select(ctx context.Context, s Selection) iter.Seq2[Entry, error] {
	where, args := s.where()
	return r.source.entries(ctx, -1, where, args...)
}

// where returns the condition on l, a row of leaves, and its parameters from ?4.
func (s Selection) where() (where string, args []any) {
	add := func(condition string, value any) {
		args = append(args, value)
		where += condition + "?" + strconv.Itoa(3+len(args))
	}
	if s.Run != "" {
		add(" AND (l.run = (SELECT run FROM runs WHERE name = ", s.Run)
		where += ")"
		for _, m := range s.listed {
			add(" OR l.class = 'manifest' AND l.producer = ", m.producer)
			add(" AND l.sequence BETWEEN ", m.first)
			add(" AND ", m.last)
		}
		where += ")"
	}
	// All times of leaves have the same length and zone: their order is that of text.
	if !s.From.IsZero() {
		add(" AND l.time >= ", FormatTime(s.From))
	}
	if !s.To.IsZero() {
		add(" AND l.time <> '' AND l.time < ", FormatTime(s.To))
	}
	if s.orders && where != "" {
		where = " AND (1" + where + " OR l.leaf IN (SELECT x.ordered FROM erased x JOIN leaves y ON y.leaf = x.leaf WHERE 1" +
			strings.ReplaceAll(where, "l.", "y.") + "))"
	}
	if s.keys && where != "" {
		where = " AND (1" + where + " OR l.leaf IN (SELECT leaf FROM orders WHERE action = 'key' AND effect = 'done'))"
	}
	if s.Before > 0 {
		add(" AND l.leaf < ", s.Before)
	}
	if s.Events {
		where += " AND l.class = 'event'"
	}
	return where, args
}

// maxListed bounds of how many producers manifests are selected: each costs three
// parameters of a query.
const maxListed = 1000

// WithManifests returns s and what proves it: where it selects a run, the manifests
// that list events of that run, which show up to which number its producers
// accounted for what they sent; the orders that destroyed records of what it
// selects; and those that changed the key.
func (r *Reader) WithManifests(ctx context.Context, s Selection) (Selection, error) {
	s.listed = nil
	err := r.source.view(ctx, func(conn *sqlite.Conn) error {
		removed, err := sqlitetx.Int(conn, "SELECT EXISTS (SELECT 1 FROM erased)")
		if s.orders = removed > 0; err != nil {
			return err
		}
		changed, err := sqlitetx.Int(conn, "SELECT EXISTS (SELECT 1 FROM orders WHERE action = 'key' AND effect = 'done')")
		if s.keys = changed > 0; err != nil || s.Run == "" {
			return err
		}
		return sqlitex.Execute(conn, `SELECT e.producer, e.first, coalesce((SELECT min(m.sequence) FROM leaves m
			WHERE m.producer = e.producer AND m.class = 'manifest' AND m.sequence >= e.last), e.last)
			FROM (SELECT producer, min(sequence) first, max(sequence) last FROM leaves
			WHERE run = (SELECT run FROM runs WHERE name = ?) AND class = 'event' GROUP BY producer LIMIT ?) e`,
			&sqlitex.ExecOptions{Args: []any{s.Run, maxListed}, ResultFunc: func(stmt *sqlite.Stmt) error {
				s.listed = append(s.listed, listed{stmt.ColumnInt64(0), stmt.ColumnInt64(1), stmt.ColumnInt64(2)})
				return nil
			}})
	})
	return s, err
}

// Find returns the event with this id, and whether there is one.
func (r *Reader) Find(ctx context.Context, id string) (Entry, bool, error) {
	page, err := r.source.page(ctx, -1, ` AND l.id = ?4 AND l.class = 'event'`, id)
	if err != nil || len(page) == 0 {
		return Entry{}, false, err
	}
	return page[0], true, nil
}

// Accesses yields the records of uses of evidence, in the order of the tree:
// events of kind audit.accessed, whoever published them.
func (r *Reader) Accesses(ctx context.Context) iter.Seq2[Entry, error] {
	return r.source.entries(ctx, -1, ` AND l.kind = ?4 AND l.class = 'event'`, string(events.AuditAccessed))
}

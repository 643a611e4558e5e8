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

// Selection selects the records that satisfy all its conditions. The zero value selects all.
type Selection struct {
	Run    string    // empty selects all records, also those without a run
	From   time.Time // inclusive; zero is no limit
	To     time.Time // exclusive; zero is no limit
	Events bool      // omits manifests, conflicts and records in quarantine
	Stored bool      // From and To are times of storage at the server, not times of events
	Before int64     // only leaves with a lower index; 0 is no limit

	listed []listed // add the manifests that list these numbers
	orders bool     // add the orders that destroyed selected payloads
	keys   bool     // add the orders that change the key or set a rule
	enrols bool     // add orders about issuers, and manifests with grants or new keys
}

// IsAll reports whether s has no conditions except the upper limit Before.
func (s Selection) IsAll() bool {
	return s.Run == "" && s.From.IsZero() && s.To.IsZero() && !s.Events
}

type listed struct{ producer, first, last int64 }

// Select yields the selected records in ascending order of their leaves. A selection by the times
// of events omits records without a time.
func (r *Reader) Select(ctx context.Context, s Selection) iter.Seq2[Entry, error] {
	where, args := s.where()
	return r.source.entries(ctx, -1, where, args...)
}

func (s Selection) where() (where string, args []any) {
	add := func(condition string, value any) {
		args = append(args, value)
		where += condition + "?" + strconv.Itoa(2+len(args))
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
	s.whereTime(add)
	if s.orders && where != "" {
		where = " AND (1" + where + " OR l.leaf IN (SELECT x.ordered FROM erased x JOIN leaves y ON y.leaf = x.leaf WHERE 1" +
			strings.ReplaceAll(where, "l.", "y.") + "))"
	}
	if s.keys && where != "" {
		where = " AND (1" + where + " OR l.leaf IN (SELECT leaf FROM orders WHERE " + provingOrders + "))"
	}
	if s.enrols {
		where = " AND (1" + where + " OR l.leaf IN (SELECT leaf FROM orders WHERE action IN ('issuer', 'revoke'))"
		add(` OR l.class = 'manifest' AND l.producer IN (SELECT producer FROM leaves WHERE class = 'event' AND run =
			(SELECT run FROM runs WHERE name = `, s.Run)
		where += `)) AND (SELECT instr(p.bytes, '"grant":{') + instr(p.bytes, '"next":"') FROM payloads p WHERE p.leaf = l.leaf) > 0)`
	}
	if s.Before > 0 {
		add(" AND l.leaf < ", s.Before)
	}
	if s.Events {
		where += " AND l.class = 'event'"
	}
	return where, args
}

func (s Selection) whereTime(add func(condition string, value any)) {
	// Times in the database are in UTC and have the same length, so SQL can compare them as text.
	from, to, since, before := " AND l.time >= ", " AND l.time <> '' AND l.time < ", any(FormatTime(s.From)), any(FormatTime(s.To))
	if s.Stored {
		from, to, since, before = " AND l.stored >= ", " AND l.stored < ", Nanoseconds(s.From), Nanoseconds(s.To)
	}
	if !s.From.IsZero() {
		add(from, since)
	}
	if !s.To.IsZero() {
		add(to, before)
	}
}

const provingOrders = "action IN ('key', 'floor', 'approvers') AND effect = 'done'"

// maxListed limits the number of producers in a query, because each of them needs three parameters.
const maxListed = 1000

// WithManifests extends s, so that it also selects the manifests and orders that a verifier needs
// for the selected records.
func (r *Reader) WithManifests(ctx context.Context, s Selection) (Selection, error) {
	s.listed, s.enrols = nil, s.Run != ""
	err := r.source.view(ctx, func(conn *sqlite.Conn) error {
		removed, err := sqlitetx.Int(conn, "SELECT EXISTS (SELECT 1 FROM erased)")
		if s.orders = removed > 0; err != nil {
			return err
		}
		changed, err := sqlitetx.Int(conn, "SELECT EXISTS (SELECT 1 FROM orders WHERE "+provingOrders+")")
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

// Find returns the event with this id, or false if there is none.
func (r *Reader) Find(ctx context.Context, id string) (Entry, bool, error) {
	for e, err := range r.source.entries(ctx, -1, ` AND l.id = ?3 AND l.class = 'event'`, id) {
		return e, err == nil, err
	}
	return Entry{}, false, nil
}

// Accesses yields all events of kind audit.accessed in ascending order of their leaves.
func (r *Reader) Accesses(ctx context.Context) iter.Seq2[Entry, error] {
	return r.source.entries(ctx, -1, ` AND l.kind = ?3 AND l.class = 'event'`, string(events.AuditAccessed))
}

package ledger

import (
	"context"
	"iter"
	"math"
	"strconv"
	"strings"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Stored selects the records that the server stored in a period of time.
type Stored struct {
	From   time.Time // inclusive; zero is no limit
	To     time.Time // exclusive; zero is no limit
	Before int64     // only leaves with a lower index
}

func (s Stored) limits() (from, to int64) { return (&hourCount{from: s.From, to: s.To}).limits() }

// Nanoseconds returns t in nanoseconds since 1970. A time out of range becomes the nearest value.
func Nanoseconds(t time.Time) int64 {
	switch {
	case t.Before(time.Unix(0, 1)):
		return 1 // 0 is no time
	case t.After(time.Unix(0, math.MaxInt64)):
		return math.MaxInt64
	}
	return t.UnixNano()
}

// KindCount counts the records of one class and kind.
type KindCount struct {
	Class Class       `json:"class"`
	Kind  events.Kind `json:"kind,omitempty"` // empty for manifests and unreadable records
	Count int64       `json:"count"`
}

// Kinds counts the selected records by class and kind. The most frequent kind comes first.
func (a Activity) Kinds(ctx context.Context, s Stored) (counts []KindCount, err error) {
	from, to := s.limits()
	err = a.source.view(ctx, func(conn *sqlite.Conn) error {
		counts = nil
		return sqlitex.Execute(conn, `SELECT class, kind, count(*) n FROM leaves WHERE stored >= ? AND stored < ? AND leaf < ?
			GROUP BY class, kind ORDER BY n DESC, class, kind`, &sqlitex.ExecOptions{
			Args: []any{from, to, s.Before},
			ResultFunc: func(stmt *sqlite.Stmt) error {
				counts = append(counts, KindCount{Class(stmt.ColumnText(0)), events.Kind(stmt.ColumnText(1)), stmt.ColumnInt64(2)})
				return nil
			},
		})
	})
	return counts, err
}

// Checkpoints counts the checkpoints up to number last that were signed between s.From and s.To.
func (a Activity) Checkpoints(ctx context.Context, s Stored, last int64) (n int64, err error) {
	from, to := s.limits()
	if s.To.IsZero() {
		to = math.MaxInt64
	}
	err = a.source.view(ctx, func(conn *sqlite.Conn) error {
		n = 0
		return sqlitex.Execute(conn, "SELECT note FROM checkpoints WHERE checkpoint <= ?", &sqlitex.ExecOptions{
			Args: []any{last},
			ResultFunc: func(stmt *sqlite.Stmt) error {
				c, err := ReadCheckpoint([]byte(stmt.ColumnText(0)))
				if at := c.Time.UnixNano(); err == nil && at >= from && at < to {
					n++
				}
				return err
			},
		})
	})
	return n, err
}

// StoredEvents yields the selected events of the given kinds in ascending order of their leaves.
func (r *Reader) StoredEvents(ctx context.Context, s Stored, kinds ...events.Kind) iter.Seq2[Entry, error] {
	from, to := s.limits()
	args := []any{from, to, s.Before}
	places := make([]string, len(kinds))
	for i, k := range kinds {
		args = append(args, string(k))
		places[i] = "?" + strconv.Itoa(2+len(args))
	}
	return r.source.entries(ctx, -1, ` AND l.stored >= ?3 AND l.stored < ?4 AND l.leaf < ?5 AND l.class = 'event' AND l.kind IN (`+
		strings.Join(places, ", ")+`)`, args...)
}

package ledger

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
)

// Hour counts the records that the server stored in one hour. Records that were erased later are
// included.
type Hour struct {
	Start       time.Time `json:"hour"` // UTC
	Records     int64     `json:"records"`
	Events      int64     `json:"events"`
	SetApart    int64     `json:"set_apart"`
	Checkpoints int64     `json:"checkpoints"`
	Erased      int64     `json:"erased"`
	Pruned      int64     `json:"pruned"`
	Held        int64     `json:"held"` // records that a hold protects
	Last        int64     `json:"-"`    // index of the last leaf, -1 if there is none
}

// RunEnd says when the server stored the last event of a run, and whether a producer has declared
// the end of the run.
type RunEnd struct {
	Run    string
	Last   time.Time
	Sealed bool
}

// Activity reports when records were stored in a ledger, and how many.
type Activity struct{ source *source }

// Hours counts the records of each hour. The keys of the map come from [HourOf]. from is inclusive
// and to is exclusive. A zero time means no limit.
func (a Activity) Hours(ctx context.Context, from, to time.Time) (hours map[int64]*Hour, err error) {
	c := &hourCount{hours: make(map[int64]*Hour), from: from, to: to}
	err = a.source.view(ctx, func(conn *sqlite.Conn) error {
		if err := c.leaves(conn); err != nil {
			return err
		}
		if err := c.checkpoints(conn); err != nil {
			return err
		}
		return c.held(conn)
	})
	return c.hours, err
}

// HourOf returns the number of full hours between 1970 and t.
func HourOf(t time.Time) int64 { return t.Unix() / 3600 }

type hourCount struct {
	hours    map[int64]*Hour
	from, to time.Time
}

func (c *hourCount) at(nanoseconds int64) *Hour {
	t := time.Unix(0, nanoseconds).UTC()
	if nanoseconds == 0 || t.Before(c.from) || !c.to.IsZero() && !t.Before(c.to) {
		return nil
	}
	h := c.hours[HourOf(t)]
	if h == nil {
		h = &Hour{Start: t.Truncate(time.Hour), Last: -1}
		c.hours[HourOf(t)] = h
	}
	return h
}

func (c *hourCount) limits() (from, to int64) {
	if from, to = Nanoseconds(c.from), math.MaxInt64; !c.to.IsZero() {
		to = Nanoseconds(c.to)
	}
	return from, to
}

func (c *hourCount) leaves(conn *sqlite.Conn) error {
	from, to := c.limits()
	return sqlitex.Execute(conn, `SELECT min(l.stored), count(*), sum(l.class = 'event'), sum(l.class IN ('conflict', 'quarantine')),
		coalesce(sum(x.word = 'erased'), 0), coalesce(sum(x.word = 'pruned'), 0), max(l.leaf)
		FROM leaves l LEFT JOIN erased x ON x.leaf = l.leaf WHERE l.stored >= ? AND l.stored < ?
		GROUP BY l.stored / 3600000000000`,
		&sqlitex.ExecOptions{Args: []any{from, to}, ResultFunc: func(stmt *sqlite.Stmt) error {
			h := c.at(stmt.ColumnInt64(0))
			h.Records, h.Events, h.SetApart = stmt.ColumnInt64(1), stmt.ColumnInt64(2), stmt.ColumnInt64(3)
			h.Erased, h.Pruned, h.Last = stmt.ColumnInt64(4), stmt.ColumnInt64(5), stmt.ColumnInt64(6)
			return nil
		}})
}

func (c *hourCount) checkpoints(conn *sqlite.Conn) error {
	return sqlitex.Execute(conn, "SELECT note FROM checkpoints", &sqlitex.ExecOptions{
		ResultFunc: func(stmt *sqlite.Stmt) error {
			p, err := ReadCheckpoint([]byte(stmt.ColumnText(0)))
			if err != nil {
				return err
			}
			if h := c.at(p.Time.UnixNano()); h != nil {
				h.Checkpoints++
			}
			return nil
		},
	})
}

func (c *hourCount) held(conn *sqlite.Conn) error {
	holds, err := LoadHolds(conn)
	if err != nil {
		return err
	}
	end, err := sqlitetx.Int(conn, "SELECT coalesce(max(leaf), -1) + 1 FROM leaves")
	if err != nil {
		return err
	}
	var held LeafRanges
	for _, h := range holds {
		covered, err := Resolve(conn, h.Selection, end)
		if err != nil {
			return err
		}
		held = append(held, covered...)
	}
	from, to := c.limits()
	for _, r := range held.sorted() {
		err := sqlitex.Execute(conn, `SELECT min(stored), count(*) FROM leaves
			WHERE leaf BETWEEN ? AND ? AND stored >= ? AND stored < ? GROUP BY stored / 3600000000000`,
			&sqlitex.ExecOptions{Args: []any{r.First, r.Last, from, to}, ResultFunc: func(stmt *sqlite.Stmt) error {
				c.at(stmt.ColumnInt64(0)).Held += stmt.ColumnInt64(1)
				return nil
			}})
		if err != nil {
			return err
		}
	}
	return nil
}

// RunEnds returns, for each run, when its last event was stored and whether a producer has declared
// its end. It ignores other events that Hooktrail itself writes, see [IsServiceRecord].
func (a Activity) RunEnds(ctx context.Context) (runs []RunEnd, err error) {
	err = a.source.view(ctx, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(conn, `SELECT r.name, max(l.stored), max(l.kind = 'run.sealed') FROM leaves l JOIN runs r ON r.run = l.run
			WHERE l.class = 'event' AND l.kind NOT IN ('gap.recorded', 'issue.decided', 'issue.edited', 'audit.accessed', 'producer.lost', 'clock.ticked')
			GROUP BY l.run`,
			&sqlitex.ExecOptions{ResultFunc: func(stmt *sqlite.Stmt) error {
				runs = append(runs, RunEnd{
					Run: stmt.ColumnText(0), Last: time.Unix(0, stmt.ColumnInt64(1)).UTC(), Sealed: stmt.ColumnInt64(2) > 0,
				})
				return nil
			}})
	})
	return runs, err
}

// GapsNoticed returns, for each gap in the sequence numbers of a producer, when the first event
// after the gap was stored. lasts are the last missing numbers of the gaps.
func (a Activity) GapsNoticed(ctx context.Context, producer string, lasts []uint64) ([]time.Time, error) {
	times := make([]time.Time, len(lasts))
	descending := make([]int, len(lasts))
	for i := range descending {
		descending[i] = i
	}
	slices.SortFunc(descending, func(i, j int) int { return cmp.Compare(lasts[j], lasts[i]) })
	err := a.source.view(ctx, func(conn *sqlite.Conn) error {
		latest, err := sqlitetx.Int(conn, `SELECT coalesce(max(stored), 0) FROM leaves
			WHERE producer = (SELECT producer FROM producers WHERE name = ?)`, producer)
		if err != nil || latest == 0 {
			return err
		}
		noticed, rest := latest, descending // noticed is the earliest time of the higher numbers
		take := func(below int64) {
			for ; len(rest) > 0 && lasts[rest[0]] >= uint64(below); rest = rest[1:] {
				times[rest[0]] = time.Unix(0, noticed).UTC()
			}
		}
		isFirst := true
		err = sqlitex.Execute(conn, `SELECT sequence, stored FROM leaves
			WHERE producer = (SELECT producer FROM producers WHERE name = ?) ORDER BY sequence DESC`,
			&sqlitex.ExecOptions{Args: []any{producer}, ResultFunc: func(stmt *sqlite.Stmt) error {
				take(stmt.ColumnInt64(0))
				if stored := stmt.ColumnInt64(1); isFirst || stored < noticed {
					noticed, isFirst = stored, false
				}
				return nil
			}})
		take(0)
		return err
	})
	return times, err
}

// SilentProducers returns the producers that sent events before the stream last lost messages or
// was replaced, and none afterwards. c is the newest checkpoint.
func (a Activity) SilentProducers(ctx context.Context, c Checkpoint) (names []string, err error) {
	const query = `SELECT name FROM producers p WHERE
		(EXISTS (SELECT 1 FROM leaves l WHERE l.producer = p.producer AND l.leaf < ?1 AND l.class <> 'quarantine')
			OR EXISTS (SELECT 1 FROM seen s WHERE s.producer = p.producer AND s.seen <= ?3))
		AND NOT EXISTS (SELECT 1 FROM leaves l WHERE l.producer = p.producer AND l.leaf >= ?1 AND l.leaf < ?2 AND l.class <> 'quarantine')
		AND NOT EXISTS (SELECT 1 FROM seen s WHERE s.producer = p.producer AND s.seen > ?3 AND s.seen <= ?4)
		ORDER BY name`
	err = a.source.view(ctx, func(conn *sqlite.Conn) error {
		names = nil
		b, ok, err := lastBreak(conn, c)
		if err != nil || !ok {
			return err
		}
		return sqlitex.Execute(conn, query, &sqlitex.ExecOptions{
			Args:       []any{b.Size, c.Size, b.Arrivals - b.Size, c.Arrivals - c.Size},
			ResultFunc: func(stmt *sqlite.Stmt) error { names = append(names, stmt.ColumnText(0)); return nil },
		})
	})
	if err != nil {
		return nil, fmt.Errorf("silent producers: %w", err)
	}
	return names, nil
}

// lastBreak finds the newest point at which the position in the stream moved forward although no
// message arrived. There, the stream lost messages or was replaced.
func lastBreak(conn *sqlite.Conn, c Checkpoint) (b Checkpoint, ok bool, err error) {
	errFound := errors.New("found")
	later := c
	err = sqlitex.Execute(conn, "SELECT note FROM checkpoints WHERE checkpoint < ? ORDER BY checkpoint DESC", &sqlitex.ExecOptions{
		Args: []any{c.Number},
		ResultFunc: func(stmt *sqlite.Stmt) error {
			earlier, err := ReadCheckpoint([]byte(stmt.ColumnText(0)))
			if err != nil {
				return err
			}
			if earlier.Arrivals == later.Arrivals && earlier.Arrivals > 0 && later.Position.After(earlier.Position) {
				return errFound
			}
			later = earlier
			return nil
		},
	})
	if errors.Is(err, errFound) {
		return later, true, nil
	}
	return b, false, err
}

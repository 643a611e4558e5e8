package ledger

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// RunList is the result of [Reader.List].
type RunList struct {
	Runs    []RunSummary // the latest start first
	Altered error        // about the first altered record, a [RecordError]
	More    int          // matching runs beyond the limit, or -1 if there may be some
	Untimed bool         // runs that state no time would match without From and To
}

type runStart struct {
	run         string
	number      int64     // in the table runs
	first, last int64     // leaves
	bound       time.Time // the run started at this time or before; zero without events of agents
	untimed     bool      // perhaps the source did not state bound; valid if bound is before the filter's From
}

// List returns the runs that match f, the latest start first. It returns at most limit runs, or all
// of them if limit is 0. progress gets the number of runs checked so far.
func (r *Reader) List(ctx context.Context, f RunFilter, limit int, progress func(done, total uint64)) (RunList, error) {
	starts, err := r.source.runStarts(ctx, f.From)
	if err != nil {
		return RunList{}, err
	}
	list, waiting := RunList{Runs: []RunSummary{}}, []RunSummary(nil)
	for rest := starts; len(rest) > 0 && (limit == 0 || len(list.Runs) < limit); {
		n := min(runsPerChunk, len(rest))
		found, err := matching(ctx, r, f, rest[:n])
		if err != nil {
			return list, err
		}
		rest, list.Altered, list.Untimed = rest[n:], cmp.Or(list.Altered, found.Altered), list.Untimed || found.Untimed
		waiting = append(waiting, found.Runs...)
		ready := sortStarted(waiting, rest)
		list.Runs, waiting = append(list.Runs, waiting[:ready]...), waiting[ready:]
		if list.More = len(waiting) + len(rest); len(rest) > 0 && !f.isAll() {
			list.More = -1
		}
		progress(uint64(len(starts)-len(rest)), uint64(len(starts)))
	}
	if limit > 0 && len(list.Runs) > limit {
		if list.More >= 0 {
			list.More += len(list.Runs) - limit
		}
		list.Runs = list.Runs[:limit]
	}
	return list, nil
}

func sortStarted(runs []RunSummary, rest []runStart) int {
	slices.SortStableFunc(runs, func(a, b RunSummary) int { return b.First.Compare(a.First) })
	if len(rest) == 0 {
		return len(runs)
	}
	n, _ := slices.BinarySearchFunc(runs, rest[0].bound, func(s RunSummary, bound time.Time) int { return bound.Compare(s.First) })
	return n
}

const runsPerChunk = 32

// matching includes the runs with altered records, because the original content of these records is
// unknown.
func matching(ctx context.Context, r *Reader, f RunFilter, runs []runStart) (found RunList, err error) {
	if kinds := f.kinds(); len(kinds) > 0 {
		if runs, err = r.source.candidates(ctx, f, runs, kinds); err != nil {
			return found, err
		}
	}
	for _, s := range runs {
		sum, wrong, err := r.summary(ctx, s.run)
		if err != nil {
			return found, fmt.Errorf("run %q: %w", s.run, err)
		}
		if wrong != nil && found.Altered == nil {
			found.Altered = fmt.Errorf("run %q: %w", s.run, wrong)
		}
		switch {
		case wrong != nil, f.startsIn(sum) && f.matches(sum):
			found.Runs = append(found.Runs, sum)
		case sum.Untimed > 0 && sum.Started.IsZero() && f.matches(sum):
			found.Untimed = true
		}
	}
	return found, nil
}

// runStarts leaves out the runs whose source states a start before from.
func (s *source) runStarts(ctx context.Context, from time.Time) (starts []runStart, err error) {
	err = s.view(ctx, func(conn *sqlite.Conn) error {
		starts = nil
		return sqlitex.Execute(conn, `SELECT r.name, s.run, s.first, s.last,
			CASE WHEN `+ofAgents+` THEN l.time ELSE (SELECT coalesce(min(l.time), '') FROM leaves l WHERE l.run = s.run AND `+ofAgents+`) END,
			CASE WHEN NOT (`+ofAgents+`) THEN 1 WHEN l.time >= ?1 THEN 0 ELSE coalesce(
				(SELECT p.blob IS NOT NULL OR instr(p.bytes, '"untimed"') > 0 FROM payloads p WHERE p.leaf = s.first), 0) END
			FROM (SELECT run, min(leaf) first, max(leaf) last FROM leaves WHERE run > 0 GROUP BY run) s
			JOIN runs r ON r.run = s.run JOIN leaves l ON l.leaf = s.first`,
			&sqlitex.ExecOptions{Args: []any{FormatTime(from)}, ResultFunc: func(stmt *sqlite.Stmt) (err error) {
				one := runStart{
					run: stmt.ColumnText(0), number: stmt.ColumnInt64(1), first: stmt.ColumnInt64(2), last: stmt.ColumnInt64(3),
					untimed: stmt.ColumnInt64(5) > 0,
				}
				if text := stmt.ColumnText(4); text != "" {
					if one.bound, err = time.Parse(timeLayout, text); err != nil {
						one.bound = unreadable
					}
				}
				starts = append(starts, one)
				return nil
			}})
	})
	starts = slices.DeleteFunc(starts, func(s runStart) bool { return s.bound.Before(from) && !s.untimed })
	slices.SortFunc(starts, func(a, b runStart) int { return cmp.Or(b.bound.Compare(a.bound), cmp.Compare(b.last, a.last)) })
	return starts, err
}

// unreadable stands for the start time of a run whose first record was altered. This late time
// makes List read the run and report the problem.
var unreadable = time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)

// ofAgents is an SQL condition for events that agents caused, not Hooktrail itself, see
// [IsServiceRecord].
const ofAgents = `l.class = 'event' AND l.kind NOT IN ('run.sealed', 'gap.recorded', 'issue.decided', 'issue.edited',
	'audit.accessed', 'producer.lost', 'clock.ticked')`

type candidate struct {
	runStart

	fold       *runFold
	unreadable bool  // a record was altered
	seal       int64 // leaf of the last seal, or -1
	named      bool  // the first event has the agent
}

func (c *candidate) add(e Entry) error {
	if e.Kind == events.RunSealed {
		c.seal = e.Leaf
	}
	err := c.fold.addEntry(e)
	if e.Leaf == c.first {
		c.named = c.fold.sum.Agent != ""
	}
	return err
}

func (c *candidate) canMatch(f RunFilter) bool {
	if c.unreadable {
		return true
	}
	if f.Sealed != nil && (*f.Sealed && c.seal < 0 || !*f.Sealed && c.seal == c.last) {
		return false
	}
	if !c.named {
		f.Agent = ""
	}
	s := c.fold.summary()
	return s.Events == 0 || s.Removed > 0 || f.matchesFacts(s)
}

func (s *source) candidates(ctx context.Context, f RunFilter, runs []runStart, kinds []events.Kind) (likely []runStart, err error) {
	byNumber := make(map[int64]*candidate, len(runs))
	query := make([][2]int64, len(runs))
	for i, run := range runs {
		byNumber[run.number] = &candidate{runStart: run, fold: newRunFold(s.tenant, run.run), seal: -1}
		query[i] = [2]int64{run.number, run.first}
	}
	chosen, err := json.Marshal(query)
	if err != nil {
		return nil, err
	}
	wanted, err := json.Marshal(kinds)
	if err != nil {
		return nil, err
	}
	err = s.view(ctx, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(conn, `SELECT `+entryColumns+`, l.run FROM json_each(?1) j
			CROSS JOIN leaves l INDEXED BY leaves_run ON l.run = j.value ->> 0 `+entryJoins+`
			WHERE l.class = 'event' AND (l.kind IN (SELECT value FROM json_each(?2)) OR l.leaf = j.value ->> 1)`,
			&sqlitex.ExecOptions{Args: []any{string(chosen), string(wanted)}, ResultFunc: func(stmt *sqlite.Stmt) error {
				c := byNumber[stmt.ColumnInt64(runColumn)]
				e, err := scanEntry(stmt)
				if err == nil {
					err = c.add(e)
				}
				c.unreadable = c.unreadable || err != nil
				return nil
			}})
	})
	for _, run := range runs {
		if byNumber[run.number].canMatch(f) {
			likely = append(likely, run)
		}
	}
	return likely, err
}

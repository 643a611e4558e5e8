package verifier

import (
	"math"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
)

type window struct {
	facts    *completeness
	from, to time.Time
	since    int64 // inclusive, in nanoseconds since 1970
	until    int64 // exclusive, in nanoseconds since 1970

	senders map[string]*sender // by name
	highest map[string]uint64  // highest number by producer
	runs    map[string]bool
	foreign map[foreignPlace]bool
}

type foreignPlace struct {
	leaf   int64
	stream uint64
}

func newWindow(c *completeness, from, to time.Time) *window {
	w := &window{facts: c, from: from, to: to, until: math.MaxInt64, highest: make(map[string]uint64), runs: make(map[string]bool), foreign: make(map[foreignPlace]bool), senders: make(map[string]*sender)}
	for _, s := range c.producers {
		w.senders[s.name] = s
	}
	for _, f := range c.found.list {
		w.foreign[foreignPlace{f.Leaf, f.StreamSequence}] = true
	}
	if !from.IsZero() {
		w.since = ledger.Nanoseconds(from)
	}
	if !to.IsZero() {
		w.until = ledger.Nanoseconds(to)
	}
	return w
}

func (w *window) restrict(r *Report) error {
	r.From, r.To = w.from, w.to
	if err := w.read(); err != nil {
		return err
	}
	var gaps []Gap
	named := make(map[string]bool)
	times, err := w.timesOf(r.Gaps)
	if err != nil {
		return err
	}
	for i, g := range r.Gaps {
		if w.overlaps(times[i].after, times[i].until) {
			gaps, named[g.Producer] = append(gaps, g), true
		}
	}
	r.Gaps = gaps
	unproven := false
	r.Producers = slices.DeleteFunc(r.Producers, func(p Producer) bool {
		doubtful := w.isUnproven(p, r.Breaks)
		unproven = unproven || doubtful
		_, sent := w.highest[p.Name]
		return !sent && !named[p.Name] && !doubtful
	})
	other := func(run string) bool { return !w.runs[run] }
	r.Open, r.Unsealed = slices.DeleteFunc(r.Open, other), slices.DeleteFunc(r.Unsealed, other)
	r.Runs = RunCounts{Open: len(r.Open), Unsealed: len(r.Unsealed), Sealed: w.sealed(r)}
	r.judge(unproven)
	if r.Completeness == Complete && r.IsOfNothing() {
		r.Completeness = Empty
	}
	return nil
}

func (w *window) overlaps(after, until int64) bool { return after < w.until && until >= w.since }

func (w *window) read() error {
	for _, query := range [...]string{
		`SELECT l.leaf, l.stream, p.name, l.sequence, iif(l.class = 'event', r.name, NULL) FROM leaves l
			JOIN producers p ON p.producer = l.producer LEFT JOIN runs r ON r.run = l.run
			WHERE l.stored >= ? AND l.stored < ? AND l.class IN ('event', 'conflict')`,
		`SELECT s.leaf, s.stream, p.name, s.sequence, NULL FROM seen s JOIN producers p ON p.producer = s.producer
			WHERE s.stored >= ? AND s.stored < ?`,
	} {
		err := w.each(query, func(stmt *sqlite.Stmt) error {
			name := stmt.ColumnText(2)
			w.highest[name] = max(w.highest[name], uint64(stmt.ColumnInt64(3)))
			if !stmt.ColumnIsNull(4) {
				w.runs[stmt.ColumnText(4)] = true
			}
			return nil
		}, w.since, w.until)
		if err != nil {
			return err
		}
	}
	return nil
}

// each runs a query, which must return the columns leaf and stream first.
func (w *window) each(query string, do func(*sqlite.Stmt) error, args ...any) error {
	return sqlitex.Execute(w.facts.conn, query, &sqlitex.ExecOptions{Args: args, ResultFunc: func(stmt *sqlite.Stmt) error {
		if w.foreign[foreignPlace{stmt.ColumnInt64(0), uint64(stmt.ColumnInt64(1))}] {
			return nil
		}
		return do(stmt)
	}})
}

func (w *window) isUnproven(p Producer, breaks []Break) bool {
	if p.SilentSinceBreak && len(breaks) > 0 {
		last := int64(0)
		if s := w.senders[p.Name]; s != nil && !s.lastStored.IsZero() {
			last = s.lastStored.UnixNano()
		}
		if w.overlaps(last, breaks[len(breaks)-1].Noticed.UnixNano()) {
			return true
		}
	}
	if p.isAbsent() && w.overlaps(nanoseconds(p.Heard), math.MaxInt64) {
		return true
	}
	highest, sent := w.highest[p.Name]
	return sent && (p.Unchecked || highest > p.Listed && !p.InFlight)
}

func (w *window) sealed(r *Report) (n int) {
	done, unfinished := make(map[string]bool), setOf(slices.Concat(r.Open, r.Unsealed))
	for _, p := range w.facts.producerRuns {
		if p.seal != nil && w.runs[p.name] && (r.Run == "" || r.Run == p.name) && !unfinished[p.name] {
			done[p.name] = true
		}
	}
	return len(done)
}

package verifier

import (
	"math"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"
)

type oneRun struct {
	name    string
	parts   map[string]*producerRun
	matched map[string]bool // the seal of the producer matches its events
}

func (c *completeness) restrict(r *Report, run string, silent time.Time) error {
	one := oneRun{name: run, parts: make(map[string]*producerRun), matched: make(map[string]bool)}
	var parts []*producerRun
	for key, p := range c.producerRuns {
		if p.name == run {
			name := c.producers[key.producer].name
			one.parts[name] = p
			parts = append(parts, p)
			var err error
			if one.matched[name], err = c.matches(key, p); err != nil {
				return err
			}
		}
	}
	r.Run = run
	named, err := one.gaps(newWindow(c, time.Time{}, time.Time{}), r)
	if err != nil {
		return err
	}
	r.Producers = slices.DeleteFunc(r.Producers, func(p Producer) bool { return one.parts[p.Name] == nil && !named[p.Name] })
	other := func(name string) bool { return name != run }
	r.Open, r.Unsealed = slices.DeleteFunc(r.Open, other), slices.DeleteFunc(r.Unsealed, other)
	r.Runs = RunCounts{Open: len(r.Open), Unsealed: len(r.Unsealed)}
	if stateOf(parts, silent) == runSealed {
		r.Runs.Sealed = 1
	}
	r.judge(slices.ContainsFunc(r.Producers, Producer.isUnproven))
	return nil
}

func (o oneRun) gaps(w *window, r *Report) (named map[string]bool, err error) {
	times, err := w.timesOf(r.Gaps)
	if err == nil {
		err = w.narrow(o.name)
	}
	if err != nil {
		return nil, err
	}
	var gaps []Gap
	named = make(map[string]bool)
	for i, g := range r.Gaps {
		isOther := g.Run == "" && o.parts[g.Producer] == nil
		if o.mayLack(g) || isOther && w.overlaps(times[i].after, times[i].until) {
			gaps, named[g.Producer] = append(gaps, g), true
		}
	}
	r.Gaps = gaps
	return named, nil
}

func (w *window) narrow(run string) error {
	w.since, w.until = math.MaxInt64, 0
	return w.each(`SELECT leaf, stream, stored FROM leaves WHERE run = (SELECT run FROM runs WHERE name = ?) AND class = 'event'`,
		func(stmt *sqlite.Stmt) error {
			stored := stmt.ColumnInt64(2)
			w.since, w.until = min(w.since, stored), max(w.until, stored+1)
			return nil
		}, run)
}

func (p Producer) isUnproven() bool { return p.unproven(p.Received > 0 && p.Sent > p.Listed) }

func (r *Report) judge(unproven bool) {
	r.Doubtful = r.Doubtful || r.Run != "" && r.Runs.Sealed+len(r.Unsealed) == 0
	switch {
	case len(r.Gaps) > 0:
		r.Completeness = Gaps
	case len(r.Unsealed) > 0:
		r.Completeness = Unsealed
	// Only a run.sealed event proves that the run has ended.
	case unproven || r.Run != "" && r.Runs.Sealed == 0:
		r.Completeness = Unproven
	default:
		r.Completeness = Complete
	}
}

func (c *completeness) matches(key producerRunKey, p *producerRun) (bool, error) {
	if p.seal == nil || p.matched {
		return p.matched, nil
	}
	t, err := c.counter(key, p.seal.Last)
	return err == nil && t.matches(p.seal), err
}

func (o oneRun) mayLack(g Gap) bool {
	if g.Run != "" {
		return g.Run == o.name
	}
	p := o.parts[g.Producer]
	switch {
	case p == nil:
		return false
	case o.matched[g.Producer] && g.Cause == CauseStream && g.Last < p.sealNo:
		return false
	}
	return g.Last >= p.lowest()
}

func (p *producerRun) lowest() uint64 {
	first := max(p.low, 1)
	if p.seal != nil {
		first = min(first, p.seal.First)
	}
	return first
}

// IsOfNothing reports whether the run or the time range of the report contains no records.
func (r Report) IsOfNothing() bool { return len(r.Producers) == 0 && len(r.Gaps) == 0 }

func (r *Report) isQuiet() bool {
	return r.Completeness == Empty && r.Leaves > 0 && (!r.From.IsZero() || !r.To.IsZero())
}

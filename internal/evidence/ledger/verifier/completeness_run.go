package verifier

import (
	"cmp"
	"crypto/sha256"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type producerRun struct {
	name string
	by   *sender

	tally
	disordered bool   // a lower number arrived after a higher one, so the tally is wrong
	all        uint64 // count of all events, without seals
	low        uint64 // lowest number of these events

	seal      *events.RunSealedData
	sealNo    uint64
	sealOrder order
	matched   bool

	alive      bool   // an event requires a seal after it
	aliveNo    uint64 // highest number of an event that requires a seal
	aliveOrder order  // its latest position in the stream
	lastStored time.Time
}

type seal struct {
	events.RunSealedData
	own bool // made by this producer for this run
}

type order struct{ epoch, stream int64 }

func (o order) compare(p order) int {
	return cmp.Or(cmp.Compare(o.epoch, p.epoch), cmp.Compare(o.stream, p.stream))
}

func (o order) before(p order) bool { return o.compare(p) < 0 }

type tally struct {
	count, first, last uint64
	digest             events.Hash
}

func (t *tally) add(sequence uint64, hash events.Hash) {
	if t.count == 0 {
		t.first = sequence
	}
	t.count++
	t.last = sequence
	var b [2 * sha256.Size]byte
	copy(b[:], t.digest[:])
	copy(b[sha256.Size:], hash[:])
	t.digest = sha256.Sum256(b[:])
}

func (t *tally) matches(d *events.RunSealedData) bool {
	return t.count == d.Count && t.first == d.First && t.last == d.Last && t.digest.String() == d.Digest
}

func (p *producerRun) event(kind events.Kind, sequence uint64, hash events.Hash, a ledger.Arrival, seal *seal) {
	at := order{a.Epoch, a.Stream}
	if kind == events.RunSealed {
		if seal == nil || sequence <= p.sealNo {
			return
		}
		if matched := !p.disordered && p.matches(&seal.RunSealedData); matched || seal.own {
			p.seal, p.sealNo, p.sealOrder, p.matched = &seal.RunSealedData, sequence, at, matched
		}
		return
	}
	if needsSeal(kind) {
		p.alive, p.aliveNo, p.aliveOrder = true, max(p.aliveNo, sequence), at
		if stored := time.Unix(0, a.Stored); stored.After(p.lastStored) {
			p.lastStored = stored
		}
	}
	p.take(kind, sequence, hash)
}

func (p *producerRun) take(kind events.Kind, sequence uint64, hash events.Hash) {
	if kind == events.RunSealed {
		return
	}
	if p.all++; p.low == 0 || sequence < p.low {
		p.low = sequence
	}
	switch {
	case p.count > 0 && sequence < p.last:
		p.disordered = true
		if p.seal != nil && sequence <= p.seal.Last {
			p.matched = false // the seal may count these late events
		}
	default:
		p.add(sequence, hash)
	}
}

func (p *producerRun) pending() bool { return p.alive && (p.seal == nil || p.aliveNo > p.seal.Last) }

func (c *completeness) seals() ([]Gap, error) {
	var gaps []Gap
	for key, p := range c.producerRuns {
		if p.seal == nil || p.matched {
			continue
		}
		s := c.producers[key.producer]
		if !c.partial && s.lacks(p.seal.First, p.seal.Last) {
			continue // the gap is reported with the producer's numbers
		}
		t, err := c.counter(key, p.seal.Last)
		if err != nil {
			return nil, err
		}
		if !t.matches(p.seal) {
			gaps = append(gaps, Gap{
				Producer: s.name, First: p.seal.First, Last: p.seal.Last, Cause: CauseSeal, Run: p.name,
			})
		}
	}
	slices.SortFunc(gaps, func(a, b Gap) int {
		return cmp.Or(cmp.Compare(a.Producer, b.Producer), cmp.Compare(a.First, b.First), cmp.Compare(a.Run, b.Run))
	})
	return gaps, nil
}

func (s *sender) lacks(first, last uint64) bool {
	first, last = max(1, first), min(last, max(s.listed, s.received.highest()))
	return first <= last && !s.received.hasAll(first, last)
}

func (c *completeness) count(key producerRunKey, last uint64) (t tally, err error) {
	name := c.producers[key.producer].name
	err = sqlitex.Execute(c.conn, `SELECT sequence, hash, epoch, stream FROM leaves
		WHERE producer = ?1 AND sequence <= ?3 AND run = ?2 AND class IN ('event', 'conflict') AND kind <> 'run.sealed'
		UNION ALL SELECT s.sequence, s.hash, s.epoch, s.stream FROM seen s JOIN leaves l ON l.leaf = s.leaf
		WHERE s.producer = ?1 AND s.sequence <= ?3 AND l.run = ?2 AND l.kind <> 'run.sealed' ORDER BY 1, 3, 4`,
		&sqlitex.ExecOptions{
			Args: []any{key.producer, key.run, int64(last)},
			ResultFunc: func(stmt *sqlite.Stmt) error {
				var hash events.Hash
				stmt.ColumnBytes(1, hash[:])
				if !c.found.isEvent(numberedContent{name, uint64(stmt.ColumnInt64(0)), hash}) {
					return nil
				}
				if n := uint64(stmt.ColumnInt64(0)); t.count == 0 || n > t.last {
					t.add(n, hash)
				}
				return nil
			},
		})
	return t, err
}

func byRun(all map[producerRunKey]*producerRun) map[int64][]*producerRun {
	runs := make(map[int64][]*producerRun)
	for key, p := range all {
		runs[key.run] = append(runs[key.run], p)
	}
	return runs
}

func (c *completeness) runs(r *Report, silent time.Time) {
	c.extents = make(map[string][]detail)
	for _, parts := range byRun(c.producerRuns) {
		switch name := parts[0].name; stateOf(parts, silent) {
		case runSealed:
			r.Runs.Sealed++
		case runOpen:
			r.Open = append(r.Open, name)
		case runSilent:
			r.Unsealed = append(r.Unsealed, name)
			c.extents[name] = extentOf(parts)
		case runUnknown:
		}
	}
	slices.Sort(r.Open)
	slices.Sort(r.Unsealed)
	r.Runs.Open, r.Runs.Unsealed = len(r.Open), len(r.Unsealed)
}

func (c *completeness) extend(runs []string) {
	if c.extents == nil {
		return
	}
	named := setOf(runs)
	for _, parts := range byRun(c.producerRuns) {
		if name := parts[0].name; named[name] && c.extents[name] == nil {
			c.extents[name] = extentOf(parts)
		}
	}
}

func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

type runState int

const (
	runUnknown runState = iota // no event requires a seal
	runSealed
	runOpen
	runSilent
)

func stateOf(parts []*producerRun, silent time.Time) runState {
	var last time.Time
	state := runUnknown
	pending := false
	seals := sealsOf(parts)
	for _, p := range parts {
		if p.alive || p.seal != nil {
			state = runSealed
		}
		if p.lastStored.After(last) {
			last = p.lastStored
		}
		pending = pending || p.pending() && !seals.settle(p)
	}
	switch {
	case !pending:
		return state
	case last.After(silent):
		return runOpen
	}
	return runSilent
}

// sealsByStanding contains the sealed parts of a run, sorted for binary search, because comparing
// all pairs would take too long.
type sealsByStanding [standingEnrolled + 1][]*producerRun

func sealsOf(parts []*producerRun) (s sealsByStanding) {
	for _, p := range parts {
		if p.seal != nil {
			s[p.by.standing()] = append(s[p.by.standing()], p)
		}
	}
	for _, list := range s {
		slices.SortFunc(list, func(a, b *producerRun) int { return a.sealOrder.compare(b.sealOrder) })
	}
	return s
}

func (s *sealsByStanding) settle(p *producerRun) bool {
	for _, list := range s[p.by.standing():] {
		i, found := slices.BinarySearchFunc(list, p.aliveOrder, func(o *producerRun, at order) int { return o.sealOrder.compare(at) })
		if found {
			i++
		}
		if i < len(list) && list[i] == p {
			i++
		}
		if i < len(list) && settles(list[i].by, p.by, list[i].sealOrder) {
			return true
		}
	}
	return false
}

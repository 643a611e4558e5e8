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

// part is one producer's part of a run.
type part struct {
	name string // of the run

	tally
	disordered bool // a number came behind a later one: the tally is wrong

	seal      *events.RunSealedData // the latest
	sealNo    uint64                // its number
	sealOrder order
	matched   bool // it told of just what was there when it came

	alive      bool   // there is an event that a seal has to follow
	aliveNo    uint64 // the highest number of one
	aliveOrder order  // the latest of them
	lastStored time.Time
}

// seal is what a run.sealed says.
type seal struct {
	events.RunSealedData
	own bool // its id is that of a seal by its producer
}

// order is where something came in the streams.
type order struct{ epoch, stream int64 }

func (o order) before(p order) bool {
	return o.epoch < p.epoch || o.epoch == p.epoch && o.stream < p.stream
}

// tally is what a seal counts.
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

// matches reports whether a seal tells of t.
func (t *tally) matches(d *events.RunSealedData) bool {
	return t.count == d.Count && t.first == d.First && t.last == d.Last && t.digest.String() == d.Digest
}

// event takes the next event of the part.
func (p *part) event(kind events.Kind, sequence uint64, hash events.Hash, a ledger.Arrival, seal *seal) {
	at := order{a.Epoch, a.Stream}
	if kind == events.RunSealed {
		if seal == nil || sequence <= p.sealNo {
			return
		}
		// The seal of another producer, which a replayed run brings along, seals
		// nothing unless it tells the truth by chance.
		if matched := !p.disordered && p.matches(&seal.RunSealedData); matched || seal.own {
			p.seal, p.sealNo, p.sealOrder, p.matched = &seal.RunSealedData, sequence, at, matched
		}
		return
	}
	if isLifecycle(kind) {
		p.alive, p.aliveNo, p.aliveOrder = true, max(p.aliveNo, sequence), at
		if stored := time.Unix(0, a.Stored); stored.After(p.lastStored) {
			p.lastStored = stored
		}
	}
	p.take(kind, sequence, hash)
}

// take takes an event into the tally.
func (p *part) take(kind events.Kind, sequence uint64, hash events.Hash) {
	switch {
	case kind == events.RunSealed:
	case p.count > 0 && sequence < p.last:
		p.disordered = true
		if p.seal != nil && sequence <= p.seal.Last {
			p.matched = false // what the seal tells of has come by now, perhaps
		}
	default:
		p.add(sequence, hash)
	}
}

// pending reports whether a seal has to follow yet.
func (p *part) pending() bool { return p.alive && (p.seal == nil || p.aliveNo > p.seal.Last) }

// seals compares the latest seal of each part with what is there, if it did not
// match when it came, and returns where it does not.
func (c *completeness) seals() ([]Gap, error) {
	var gaps []Gap
	for key, p := range c.parts {
		if p.seal == nil || p.matched {
			continue
		}
		s := c.producers[key.producer]
		if !c.partial && s.lacks(p.seal.First, p.seal.Last) {
			continue // the gap is named where the producer's numbers are
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

// holds reports whether all numbers from first to last are there.
func (s *sender) holds(first, last uint64) bool {
	return slices.ContainsFunc(s.held, func(r events.Range) bool { return r.First <= first && last <= r.Last })
}

// lacks reports whether a number from first to last is missing that the producer
// is known to have given out: those alone are named as gaps.
func (s *sender) lacks(first, last uint64) bool {
	first, last = max(1, first), min(last, max(s.listed, s.highest()))
	return first <= last && !s.holds(first, last)
}

// count makes the tally of a part up to a number, in the order of the numbers.
func (c *completeness) count(key partKey, last uint64) (t tally, err error) {
	err = sqlitex.Execute(c.conn, `SELECT sequence, hash FROM leaves
		WHERE producer = ?1 AND sequence <= ?3 AND run = ?2 AND class IN ('event', 'conflict') AND kind <> 'run.sealed'
		UNION ALL SELECT s.sequence, s.hash FROM seen s JOIN leaves l ON l.leaf = s.leaf
		WHERE s.producer = ?1 AND s.sequence <= ?3 AND l.run = ?2 AND l.kind <> 'run.sealed' ORDER BY 1`,
		&sqlitex.ExecOptions{
			Args: []any{key.producer, key.run, int64(last)},
			ResultFunc: func(stmt *sqlite.Stmt) error {
				var hash events.Hash
				stmt.ColumnBytes(1, hash[:])
				// The first content under a number counts, as it does elsewhere.
				if n := uint64(stmt.ColumnInt64(0)); t.count == 0 || n > t.last {
					t.add(n, hash)
				}
				return nil
			},
		})
	return t, err
}

// runs tells which runs are sealed, which go on, and which went silent.
func (c *completeness) runs(r *Report, silent time.Time) {
	byRun := make(map[int64][]*part)
	for key, p := range c.parts {
		byRun[key.run] = append(byRun[key.run], p)
	}
	for _, parts := range byRun {
		switch name := parts[0].name; stateOf(parts, silent) {
		case runSealed:
			r.Runs.Sealed++
		case runOpen:
			r.Open = append(r.Open, name)
		case runSilent:
			r.Unsealed = append(r.Unsealed, name)
		case runUnknown:
		}
	}
	slices.Sort(r.Open)
	slices.Sort(r.Unsealed)
	r.Runs.Open, r.Runs.Unsealed = len(r.Open), len(r.Unsealed)
}

type runState int

const (
	runUnknown runState = iota // none of its events says that it goes on
	runSealed
	runOpen
	runSilent
)

// stateOf returns how a run stands. A part without a seal is settled by a later
// seal of another producer: one that was renumbered goes on under another name.
func stateOf(parts []*part, silent time.Time) runState {
	var last time.Time
	state := runUnknown
	pending := false
	for _, p := range parts {
		if p.alive || p.seal != nil {
			state = runSealed
		}
		if p.lastStored.After(last) {
			last = p.lastStored
		}
		pending = pending || p.pending() && !slices.ContainsFunc(parts, func(o *part) bool {
			return o != p && o.seal != nil && p.aliveOrder.before(o.sealOrder)
		})
	}
	switch {
	case !pending:
		return state
	case last.After(silent):
		return runOpen
	}
	return runSilent
}

package verifier

import (
	"cmp"
	"errors"
	"iter"
	"math"
	"slices"
	"time"

	"golang.org/x/mod/sumdb/tlog"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Judge comes to the verdict about completeness of records that were taken out of
// a ledger: all of them, or those of runs. That their leaves are in a signed tree
// is for the caller to check. What it is given has to come in the order of the
// stream.
//
// Of a run alone nothing can be said about other runs: the numbers of a producer
// have gaps where its other events are. What counts is what the seals say.
type Judge struct {
	c               *completeness
	producers, runs map[string]int64
	arrivals        ledger.Arrivals
	removed         judged
}

// Extent says what a judge is given.
type Extent int

// The extents.
const (
	WholeLedger Extent = iota
	WholeRun           // all records of a run
)

// NewJudge returns a judge that was given nothing yet.
func NewJudge(extent Extent) *Judge {
	j := &Judge{c: newCompleteness(nil), producers: make(map[string]int64), runs: make(map[string]int64)}
	j.removed.claims, j.removed.ids = make(map[int64]*judgedClaim), make(map[string]bool)
	j.c.partial = extent != WholeLedger
	return j
}

// Taken is a record and where it came from.
type Taken struct {
	Index   int64 // of the leaf
	Leaf    ledger.Leaf
	Bytes   []byte         // nil when they were destroyed
	Removal ledger.Removal // in the name of which order they were
	Epoch   uint64
	Stream  uint64
	Stored  time.Time // zero when it is not known
}

// Take takes a record. It returns an error, and leaves the record out, if it is
// not what its leaf commits to. Of a record that was destroyed it takes the leaf.
func (j *Judge) Take(k Taken) error {
	a := ledger.Arrival{Leaf: k.Index, Epoch: int64(k.Epoch), Stream: int64(k.Stream), Stored: nanoseconds(k.Stored)}
	j.arrivals.Add(a)
	f := fact{leaf: k.Index, hash: k.Leaf.Hash}
	if k.Removal.Done() {
		if err := j.takeRemoved(k); err != nil {
			return err
		}
	} else {
		if k.Bytes == nil {
			return errors.New("its record is missing")
		}
		if events.HashOf(k.Bytes) != k.Leaf.Hash {
			return errors.New("its record was altered")
		}
		new(records).decode(&f, k.Bytes, 0)
	}
	l := k.Leaf
	if l.Sequence > math.MaxInt64 {
		return errors.New("its number is out of range")
	}
	r := row{
		leaf: k.Index, producer: number(j.producers, l.Producer), run: number(j.runs, l.Run), sequence: int64(l.Sequence),
		producerName: l.Producer, runName: l.Run, hash: l.Hash[:],
		fields: ledger.LeafFields[[]byte]{
			Class: []byte(l.Class), ID: []byte(l.ID), Producer: []byte(l.Producer), Sequence: l.Sequence, Run: []byte(l.Run),
			Kind: []byte(l.Kind), Time: []byte(ledger.FormatTime(l.Time)), Finding: []byte(l.Finding),
		},
	}
	if !k.Removal.Done() && !fits(r, f) {
		return errors.New("it says something else than its record")
	}
	// What brings an order goes with a part of a ledger, and is none of it.
	if !j.c.partial || !j.Awaits(k.Index) {
		j.c.leaf(r, f, a)
	}
	if l.Class != ledger.ClassEvent {
		return nil
	}
	return j.order(k.Index, f.order)
}

// TakeAgain takes what was seen again. The run and the kind of the event that it
// repeats are believed; for the rest the digest of arrivals, or a seal, stands.
func (j *Judge) TakeAgain(a ledger.Again) {
	arrived := ledger.Arrival{
		Leaf: a.Leaf, Epoch: int64(a.Epoch), Stream: int64(a.Stream), Stored: nanoseconds(a.Stored), Again: true,
		Producer: a.Producer, Sequence: int64(a.Sequence), Hash: a.Hash[:],
	}
	j.arrivals.Add(arrived)
	producer, run := number(j.producers, a.Producer), number(j.runs, a.Run)
	s := j.c.sender(producer, a.Producer)
	if s.event(a.Sequence, a.Hash, arrived.Stored) && run > 0 {
		j.c.part(partKey{producer, run}, a.Run).take(a.Kind, a.Sequence, a.Hash)
	}
}

// Arrivals returns how much was taken, and its digest, as checkpoints have them.
func (j *Judge) Arrivals() (int64, tlog.Hash) { return j.arrivals.Count, j.arrivals.Digest }

// Conclude fills in the second verdict of r: newest is the checkpoint that the
// records are below. Where what came last does not settle it, it reads the leaves
// and what was seen again once more.
func (j *Judge) Conclude(
	r *Report, newest ledger.Checkpoint, silence time.Duration, leaves iter.Seq2[ledger.Leaf, error], again iter.Seq2[ledger.Again, error],
) error {
	if silence <= 0 {
		silence = DefaultSilence
	}
	r.NotProven, r.Redacted, r.Keys = NotProven, j.Redacted(), j.removed.changes
	var counts map[partKey][]numbered
	j.c.counter = func(key partKey, last uint64) (tally, error) {
		if counts == nil {
			var err error
			if counts, err = j.recount(leaves, again); err != nil {
				return tally{}, err
			}
		}
		return tallyOf(counts[key], last), nil
	}
	return j.c.conclude(r, newest, silence)
}

// numbered is an event by its number.
type numbered struct {
	sequence uint64
	hash     events.Hash
}

// recount collects the numbers of those parts of runs whose seal did not match
// what was there when it came.
func (j *Judge) recount(leaves iter.Seq2[ledger.Leaf, error], again iter.Seq2[ledger.Again, error]) (map[partKey][]numbered, error) {
	counts := make(map[partKey][]numbered)
	add := func(producer, run string, kind events.Kind, n numbered) {
		key := partKey{j.producers[producer], j.runs[run]}
		if p, ok := j.c.parts[key]; ok && run != "" && p.seal != nil && !p.matched && kind != events.RunSealed {
			counts[key] = append(counts[key], n)
		}
	}
	for l, err := range leaves {
		if err != nil {
			return nil, err
		}
		if l.Class == ledger.ClassEvent || l.Class == ledger.ClassConflict {
			add(l.Producer, l.Run, l.Kind, numbered{l.Sequence, l.Hash})
		}
	}
	for a, err := range again {
		if err != nil {
			return nil, err
		}
		add(a.Producer, a.Run, a.Kind, numbered{a.Sequence, a.Hash})
	}
	return counts, nil
}

// tallyOf makes the tally up to a number, in the order of the numbers. The first
// content under a number counts.
func tallyOf(list []numbered, last uint64) (t tally) {
	slices.SortStableFunc(list, func(a, b numbered) int { return cmp.Compare(a.sequence, b.sequence) })
	for _, n := range list {
		if n.sequence <= last && (t.count == 0 || n.sequence > t.last) {
			t.add(n.sequence, n.hash)
		}
	}
	return t
}

// number returns the number of a name, a new one for a new name. The empty name
// has number 0.
func number(numbers map[string]int64, name string) int64 {
	if name == "" {
		return 0
	}
	n, ok := numbers[name]
	if !ok {
		n = int64(len(numbers) + 1)
		numbers[name] = n
	}
	return n
}

func nanoseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

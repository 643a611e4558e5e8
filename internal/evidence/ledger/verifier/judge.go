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

// Judge computes the verdict on completeness from records that were exported from a ledger,
// either all records or the records of runs. The caller checks that their leaves are in a signed
// tree, and passes them in stream order.
//
// For a run alone, gaps in the numbers of a producer mean nothing, because its other events
// are missing. Only the seals count.
type Judge struct {
	c               *completeness
	producers, runs map[string]int64
	arrivals        ledger.Arrivals
	removed         judged
}

// Extent says which records a judge gets.
type Extent int

// The extents.
const (
	WholeLedger Extent = iota
	WholeRun           // all records of a run
)

// NewJudge returns a judge without records.
func NewJudge(extent Extent) *Judge {
	j := &Judge{c: newCompleteness(nil), producers: make(map[string]int64), runs: make(map[string]int64)}
	j.removed.claims, j.removed.ids = make(map[int64]*judgedClaim), make(map[string]bool)
	j.c.partial = extent != WholeLedger
	return j
}

// Taken is a record and its position.
type Taken struct {
	Index   int64 // of the leaf
	Leaf    ledger.Leaf
	Bytes   []byte         // nil if destroyed
	Removal ledger.Removal // the order that destroyed them
	Epoch   uint64
	Stream  uint64
	Stored  time.Time // zero if unknown
}

// Take adds a record. It returns an error and ignores the record if it does not match its
// leaf. For a destroyed record it adds the leaf.
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
	// Orders are added to an export of runs, and are not a part of the runs.
	if !j.c.partial || !j.Awaits(k.Index) {
		j.c.leaf(r, f, a)
	}
	if l.Class != ledger.ClassEvent {
		return nil
	}
	return j.order(k.Index, f.order)
}

// TakeAgain adds a repetition. The judge does not check its run and kind. The digest of
// arrivals or a seal covers the rest.
func (j *Judge) TakeAgain(a ledger.Again) {
	arrived := ledger.Arrival{
		Leaf: a.Leaf, Epoch: int64(a.Epoch), Stream: int64(a.Stream), Stored: nanoseconds(a.Stored), Again: true,
		Producer: a.Producer, Sequence: int64(a.Sequence), Hash: a.Hash[:],
	}
	j.arrivals.Add(arrived)
	producer, run := number(j.producers, a.Producer), number(j.runs, a.Run)
	s := j.c.sender(producer, a.Producer)
	if s.event(a.Sequence, a.Hash, arrived.Stored) && run > 0 {
		j.c.producerRun(producerRunKey{producer, run}, a.Run).take(a.Kind, a.Sequence, a.Hash)
	}
}

// Arrivals returns the number of records and repetitions so far and their digest, as
// checkpoints have them.
func (j *Judge) Arrivals() (int64, tlog.Hash) { return j.arrivals.Count, j.arrivals.Digest }

// Conclude fills in the verdict on completeness. newest is the checkpoint of the records. If
// a seal did not match on arrival, Conclude reads the leaves and repetitions once more.
func (j *Judge) Conclude(
	r *Report, newest ledger.Checkpoint, silence time.Duration, leaves iter.Seq2[ledger.Leaf, error], again iter.Seq2[ledger.Again, error],
) error {
	if silence <= 0 {
		silence = DefaultSilence
	}
	r.NotProven, r.Redacted, r.Keys = NotProven, j.Redacted(), j.removed.changes
	var counts map[producerRunKey][]numbered
	j.c.counter = func(key producerRunKey, last uint64) (tally, error) {
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

// numbered is an event and its number.
type numbered struct {
	sequence uint64
	hash     events.Hash
}

// recount collects the events of the seals that did not match on arrival.
func (j *Judge) recount(leaves iter.Seq2[ledger.Leaf, error], again iter.Seq2[ledger.Again, error]) (map[producerRunKey][]numbered, error) {
	counts := make(map[producerRunKey][]numbered)
	add := func(producer, run string, kind events.Kind, n numbered) {
		key := producerRunKey{j.producers[producer], j.runs[run]}
		if p, ok := j.c.producerRuns[key]; ok && run != "" && p.seal != nil && !p.matched && kind != events.RunSealed {
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

// tallyOf returns the tally up to a number, in the order of the numbers. The first content
// under a number counts.
func tallyOf(list []numbered, last uint64) (t tally) {
	slices.SortStableFunc(list, func(a, b numbered) int { return cmp.Compare(a.sequence, b.sequence) })
	for _, n := range list {
		if n.sequence <= last && (t.count == 0 || n.sequence > t.last) {
			t.add(n.sequence, n.hash)
		}
	}
	return t
}

// number returns the number of a name and assigns one if the name is new. The empty name has
// number 0.
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

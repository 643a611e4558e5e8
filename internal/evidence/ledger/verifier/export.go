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

// ExportChecker checks the records of an export, such as a bundle, and finds out whether events are
// missing. The caller must add the records in stream order, and check that they are in a signed
// tree. If the export contains one run, the verdict depends only on the seals of the run.
type ExportChecker struct {
	facts           *completeness
	producers, runs map[string]int64
	arrivals        ledger.Arrivals
	removed         exportRemovals
	ruleAt          map[int64]bool // leaves of orders that set rules
}

// Extent says which records of the ledger an export contains.
type Extent int

// The extents.
const (
	WholeLedger Extent = iota
	WholeRun           // all records of a run
	TimeRange          // can cut a run in two
)

// NewExportChecker returns a checker for an export of a tenant's ledger. The checker ignores orders
// for other tenants, and orders that no key of the ledger signed.
func NewExportChecker(extent Extent, tenant string, keys ledger.Keys, issuers ledger.Issuers) *ExportChecker {
	c := &ExportChecker{facts: newCompleteness(nil), producers: make(map[string]int64), runs: make(map[string]int64), ruleAt: make(map[int64]bool)}
	c.removed.orderLog = newOrderLog(keys)
	c.facts.acknowledged = c.removed.acknowledged
	c.removed.tenant, c.removed.claims = tenant, make(map[int64]*exportClaim)
	c.facts.partial, c.facts.keys, c.facts.issuers = extent != WholeLedger, keys, issuers
	return c
}

// ExportedRecord is a record of an export with its position in the stream.
type ExportedRecord struct {
	Index   int64 // number of the leaf
	Leaf    ledger.Leaf
	Bytes   []byte         // nil if the payload was destroyed
	Removal ledger.Removal // how it was destroyed
	Epoch   uint64
	Stream  uint64
	Stored  time.Time // zero if unknown
}

// Add adds the next record. It returns an error if the record does not match its leaf, or if its
// payload was destroyed although no order may destroy it.
func (c *ExportChecker) Add(k ExportedRecord) error {
	a := ledger.Arrival{Leaf: k.Index, Epoch: int64(k.Epoch), Stream: int64(k.Stream), Stored: nanoseconds(k.Stored)}
	c.arrivals.Add(a)
	f, err := c.fact(k)
	if err != nil {
		return err
	}
	l := k.Leaf
	if l.Sequence > math.MaxInt64 {
		return errors.New("its number is out of range")
	}
	r := row{
		leaf: k.Index, producer: number(c.producers, l.Producer), run: number(c.runs, l.Run), sequence: int64(l.Sequence),
		producerName: l.Producer, runName: l.Run, hash: l.Hash[:],
		fields: ledger.LeafFields[[]byte]{
			Class: []byte(l.Class), ID: []byte(l.ID), Producer: []byte(l.Producer), Sequence: l.Sequence, Run: []byte(l.Run),
			Kind: []byte(l.Kind), Time: []byte(ledger.FormatTime(l.Time)), Finding: []byte(l.Finding),
		},
	}
	if !k.Removal.Done() && !fits(r, f) {
		return errors.New("it says something else than its record")
	}
	c.noteRule(k, f)
	if !c.facts.partial || !c.ExpectsOrder(k.Index) && !c.SetsRule(k.Index) {
		c.facts.leaf(r, f, a)
	}
	if l.Class != ledger.ClassEvent || f.order == "" {
		return nil
	}
	return c.removed.order(k.Index, f.order, k.Stored)
}

func (c *ExportChecker) fact(k ExportedRecord) (fact, error) {
	f := fact{leaf: k.Index, hash: k.Leaf.Hash}
	if k.Leaf.Finding == ledger.FindingIDReused {
		f.recording = recordingOf(k.Leaf, k.Bytes, k.Removal)
	}
	switch {
	case k.Removal.Done():
		return f, c.removed.add(k)
	case k.Bytes == nil:
		return f, errors.New("its record is missing")
	case events.HashOf(k.Bytes) != k.Leaf.Hash:
		return f, errors.New("its record was altered")
	}
	f.decode(k.Bytes)
	return f, nil
}

// AddRepetition adds an event that a producer sent again under another number. The tree does not
// prove the values of a.Run and a.Kind.
func (c *ExportChecker) AddRepetition(a ledger.Repetition) {
	arrived := ledger.Arrival{
		Leaf: a.Leaf, Epoch: int64(a.Epoch), Stream: int64(a.Stream), Stored: nanoseconds(a.Stored), Repeated: true,
		Producer: a.Producer, Sequence: int64(a.Sequence), Hash: a.Hash[:],
	}
	c.arrivals.Add(arrived)
	c.facts.repetition(producerRunKey{number(c.producers, a.Producer), number(c.runs, a.Run)}, a.Run, a.Kind, arrived)
}

// Arrivals returns the count and the digest of all added records and repetitions. The caller
// compares them with the signed values in the checkpoint.
func (c *ExportChecker) Arrivals() (int64, tlog.Hash) { return c.arrivals.Count, c.arrivals.Digest }

// Conclude writes the verdict on completeness to r. newest is the signed checkpoint that covers the
// records. leaves and again yield all leaves and all repetitions of the export, because Conclude
// may have to read them again.
func (c *ExportChecker) Conclude(
	r *Report, newest ledger.Checkpoint, silence time.Duration, leaves iter.Seq2[ledger.Leaf, error], again iter.Seq2[ledger.Repetition, error],
) error {
	r.Redacted, r.Keys = c.Redacted(), c.removed.changes
	var counts map[producerRunKey][]numbered
	c.facts.counter = func(key producerRunKey, last uint64) (tally, error) {
		if counts == nil {
			var err error
			if counts, err = c.recount(leaves, again); err != nil {
				return tally{}, err
			}
		}
		return tallyOf(counts[key], last), nil
	}
	c.facts.contents = c.facts.exportedContents(leaves, again)
	return c.facts.conclude(r, newest, silence)
}

// Without makes the checker ignore the records in f, which [ExportChecker.Foreign] returned after
// an earlier check of the same export.
func (c *ExportChecker) Without(f ForeignRecords) {
	c.facts.found.known = ForeignRecords{}.With(f)
}

// Foreign returns the events that were sent under the name of another producer. If there are any,
// the caller repeats the check without them, see [ExportChecker.Without].
func (c *ExportChecker) Foreign() ForeignRecords { return c.facts.found.next }

// Findings writes the records that contradict other records to r. [ExportChecker.Conclude] also
// does so.
func (c *ExportChecker) Findings(r *Report) { c.facts.contrary.fill(r) }

type numbered struct {
	sequence uint64
	hash     events.Hash
}

func (c *ExportChecker) recount(leaves iter.Seq2[ledger.Leaf, error], again iter.Seq2[ledger.Repetition, error]) (map[producerRunKey][]numbered, error) {
	counts := make(map[producerRunKey][]numbered)
	add := func(producer, run string, kind events.Kind, n numbered) {
		key := producerRunKey{c.producers[producer], c.runs[run]}
		if run != "" && kind != events.RunSealed && c.isSealChecked(key) && c.facts.found.isEvent(numberedContent{producer, n.sequence, n.hash}) {
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

func (c *ExportChecker) isSealChecked(key producerRunKey) bool {
	p, ok := c.facts.producerRuns[key]
	return ok && p.seal != nil && !p.matched
}

func tallyOf(list []numbered, last uint64) (t tally) {
	slices.SortStableFunc(list, func(a, b numbered) int { return cmp.Compare(a.sequence, b.sequence) })
	for _, n := range list {
		if n.sequence <= last && (t.count == 0 || n.sequence > t.last) {
			t.add(n.sequence, n.hash)
		}
	}
	return t
}

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

func timeOf(stored int64) time.Time {
	if stored == 0 {
		return time.Time{}
	}
	return time.Unix(0, stored).UTC()
}

func nanoseconds(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

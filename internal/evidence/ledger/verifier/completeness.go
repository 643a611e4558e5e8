package verifier

import (
	"cmp"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// maxFindings bounds the findings in a report.
const maxFindings = 100

// completeness collects from the leaves, in order, what each producer sent and which of it
// the ledger has.
type completeness struct {
	conn         *sqlite.Conn
	producers    map[int64]*sender
	producerRuns map[producerRunKey]*producerRun
	findings     []FindingAt
	asOf         time.Time // time of the newest trusted checkpoint that the walk has passed; zero if none

	partial bool                                            // only the records of some runs are given
	counter func(producerRunKey, uint64) (t tally, _ error) // returns the tally of a producer's events in a run up to a number
}

// producerRunKey identifies the events of one producer in one run.
type producerRunKey struct{ producer, run int64 }

func newCompleteness(conn *sqlite.Conn) *completeness {
	c := &completeness{conn: conn, producers: make(map[int64]*sender), producerRuns: make(map[producerRunKey]*producerRun)}
	c.counter = c.count
	return c
}

func (c *completeness) sender(number int64, name string) *sender {
	s, ok := c.producers[number]
	if !ok {
		s = &sender{number: number, name: name, hashes: make(map[uint64]events.Hash)}
		c.producers[number] = s
	}
	return s
}

// leaf adds a leaf and its record.
func (c *completeness) leaf(r row, f fact, a ledger.Arrival) {
	switch class := ledger.Class(r.fields.Class); class {
	case ledger.ClassManifest:
		if f.manifest != nil {
			c.sender(r.producer, r.producerName).manifest(*f.manifest, f.hash)
		}
		return
	case ledger.ClassConflict, ledger.ClassQuarantine:
		if len(c.findings) < maxFindings {
			c.findings = append(c.findings, FindingAt{
				Leaf: r.leaf, Class: class, Finding: ledger.Finding(r.fields.Finding), Producer: r.producerName,
				Sequence: r.fields.Sequence, ID: string(r.fields.ID), StreamSequence: uint64(a.Stream),
			})
		}
		if class == ledger.ClassQuarantine {
			return
		}
	case ledger.ClassEvent:
	}
	s := c.sender(r.producer, r.producerName)
	if !s.event(r.fields.Sequence, events.Hash(r.hash), a.Stored) {
		return // other content under a number that was used
	}
	if f.gap != nil {
		s.recorded = append(s.recorded, events.Range{First: f.gap.First, Last: f.gap.Last, Reason: f.gap.Reason})
	}
	if r.run > 0 {
		c.producerRun(producerRunKey{r.producer, r.run}, r.runName).event(
			events.Kind(r.fields.Kind), r.fields.Sequence, events.Hash(r.hash), a, f.seal)
	}
}

// again adds a repetition. It counts like an event with the run and kind of the repeated
// leaf.
func (c *completeness) again(producer int64, name string, a ledger.Arrival) error {
	stmt := c.conn.Prep("SELECT l.run, coalesce(r.name, ''), l.kind FROM leaves l LEFT JOIN runs r ON r.run = l.run WHERE l.leaf = ?")
	stmt.BindInt64(1, a.Leaf)
	if _, err := stmt.Step(); err != nil {
		return err
	}
	run, runName, kind := stmt.ColumnInt64(0), stmt.ColumnText(1), events.Kind(stmt.ColumnText(2))
	if err := stmt.Reset(); err != nil {
		return err
	}
	s, hash := c.sender(producer, name), events.Hash(a.Hash)
	if s.event(uint64(a.Sequence), hash, a.Stored) && run > 0 {
		// A repetition does not continue the run.
		c.producerRun(producerRunKey{producer, run}, runName).take(kind, uint64(a.Sequence), hash)
	}
	return nil
}

func (c *completeness) producerRun(key producerRunKey, run string) *producerRun {
	p, ok := c.producerRuns[key]
	if !ok {
		p = &producerRun{name: run}
		c.producerRuns[key] = p
	}
	return p
}

// conclude fills in the verdict on completeness.
func (c *completeness) conclude(r *Report, newest ledger.Checkpoint, silence time.Duration) error {
	r.Findings = c.findings
	// A trusted checkpoint also shows that nothing had arrived until its time.
	silent := later(newest.Time, c.asOf).Add(-silence)
	unproven := false
	for _, s := range c.sorted() {
		p, gaps := s.conclude()
		tail := p.Received > 0 && s.highest() > p.Listed
		p.InFlight = tail && p.Manifests > 0 && s.lastStored.After(silent)
		unproven = unproven || p.unproven(tail)
		r.Producers = append(r.Producers, p)
		r.Gaps = append(r.Gaps, c.countable(gaps)...)
	}
	gaps, err := c.seals()
	if err != nil {
		return err
	}
	r.Gaps = append(r.Gaps, gaps...)
	c.runs(r, silent)
	switch {
	case len(r.Gaps) > 0:
		r.Completeness = Gaps
	case len(r.Unsealed) > 0:
		r.Completeness = Unsealed
	case unproven:
		r.Completeness = Unproven
	default:
		r.Completeness = Complete
	}
	return nil
}

// unproven reports whether the number of events that the producer sent is unknown. tail is
// true if no manifest lists its last events.
func (p Producer) unproven(tail bool) bool { return p.Unheard || p.Unchecked || tail && !p.InFlight }

// countable removes the gaps that exist only because other runs were not given.
func (c *completeness) countable(gaps []Gap) []Gap {
	if !c.partial {
		return gaps
	}
	return slices.DeleteFunc(gaps, func(g Gap) bool { return g.Cause != CauseAltered })
}

// sorted returns the producers by name.
func (c *completeness) sorted() []*sender {
	list := make([]*sender, 0, len(c.producers))
	for _, s := range c.producers {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b *sender) int { return cmp.Compare(a.name, b.name) })
	return list
}

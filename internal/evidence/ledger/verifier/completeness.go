package verifier

import (
	"cmp"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// maxFindings is how many findings a report names.
const maxFindings = 100

// completeness collects, from the leaves in their order, what the producers say
// that they sent and what is there of it.
type completeness struct {
	conn      *sqlite.Conn
	producers map[int64]*sender
	parts     map[partKey]*part
	findings  []FindingAt
	asOf      time.Time // of the newest trusted checkpoint of all that came; zero: there is none

	partial bool                                     // it has some runs alone
	counter func(partKey, uint64) (t tally, _ error) // makes the tally of a part up to a number
}

// partKey is one producer's part of a run.
type partKey struct{ producer, run int64 }

func newCompleteness(conn *sqlite.Conn) *completeness {
	c := &completeness{conn: conn, producers: make(map[int64]*sender), parts: make(map[partKey]*part)}
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

// leaf takes a leaf and its record.
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
		return // another content under a number that is there
	}
	if f.gap != nil {
		s.recorded = append(s.recorded, events.Range{First: f.gap.First, Last: f.gap.Last, Reason: f.gap.Reason})
	}
	if r.run > 0 {
		c.part(partKey{r.producer, r.run}, r.runName).event(
			events.Kind(r.fields.Kind), r.fields.Sequence, events.Hash(r.hash), a, f.seal)
	}
}

// again takes what was seen again: it counts like an event of the run and kind of
// the leaf that it repeats.
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
		// What the run did is settled with what it repeats: it does not go on.
		c.part(partKey{producer, run}, runName).take(kind, uint64(a.Sequence), hash)
	}
	return nil
}

func (c *completeness) part(key partKey, run string) *part {
	p, ok := c.parts[key]
	if !ok {
		p = &part{name: run}
		c.parts[key] = p
	}
	return p
}

// conclude fills in the second verdict.
func (c *completeness) conclude(r *Report, newest ledger.Checkpoint, silence time.Duration) error {
	r.Findings = c.findings
	// A checkpoint that was kept says too that nothing had come until then.
	silent := later(newest.Time, c.asOf).Add(-silence)
	unproven := false
	for _, s := range c.sorted() {
		p, gaps := s.conclude()
		tail := p.Held > 0 && s.highest() > p.Listed
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

// unproven reports whether nothing says how much the producer sent; tail is
// whether it sent events that no manifest lists.
func (p Producer) unproven(tail bool) bool { return p.Unheard || p.Unchecked || tail && !p.InFlight }

// countable leaves out of gaps in a producer's numbers what is there, and was
// not given.
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

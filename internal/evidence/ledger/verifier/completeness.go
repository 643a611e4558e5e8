package verifier

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const maxFindings = 100

type completeness struct {
	conn         *sqlite.Conn
	producers    map[int64]*sender
	producerRuns map[producerRunKey]*producerRun
	found        foreigners
	contrary     contradictions
	keys         ledger.Keys
	issuers      ledger.Issuers
	lost         lostOutboxes
	asOf         time.Time                  // time of the newest trusted checkpoint so far
	acknowledged map[string]Acknowledgement // by the id of the finding
	extents      map[string][]detail        // by name of an unsealed run

	partial bool           // the records are only a part of a ledger
	ignored map[int64]bool // leaves of foreign manifests, see [ExportChecker.Ignore]
	counter func(producerRunKey, uint64) (t tally, _ error)
	// contents returns, for each number from first to last, the hashes of the events that arrived
	// under this number, in the order of arrival.
	contents func(s *sender, first, last uint64) (map[uint64][]events.Hash, error)
}

type producerRunKey struct{ producer, run int64 }

func newCompleteness(conn *sqlite.Conn) *completeness {
	c := &completeness{conn: conn, producers: make(map[int64]*sender), producerRuns: make(map[producerRunKey]*producerRun), lost: make(lostOutboxes)}
	c.counter, c.contents, c.contrary.conn = c.count, c.readContents, conn
	return c
}

func (c *completeness) sender(number int64, name string) *sender {
	s, ok := c.producers[number]
	if !ok {
		s = newSender(number, name, &c.found)
		c.producers[number] = s
	}
	return s
}

func (c *completeness) leaf(r row, f fact, a ledger.Arrival) {
	c.contrary.deniedResult(f, r.producerName, ledger.Class(r.fields.Class))
	switch class := ledger.Class(r.fields.Class); class {
	case ledger.ClassManifest:
		if f.manifest != nil && !c.ignored[r.leaf] {
			c.manifest(r, f, a)
		}
		return
	case ledger.ClassConflict, ledger.ClassQuarantine:
		c.contrary.finding(r, f, class, a)
		if class == ledger.ClassQuarantine {
			return
		}
	case ledger.ClassEvent:
	}
	hash := events.Hash(r.hash)
	if c.found.isForeign(numberedContent{r.producerName, r.fields.Sequence, hash}, ledger.Class(r.fields.Class), a) {
		return
	}
	s := c.sender(r.producer, r.producerName)
	if !s.event(r.fields.Sequence, hash, a.Stored) {
		s.addOther(r.fields.Sequence, other{hash, a})
		c.found.addSecond(numberedContent{s.name, r.fields.Sequence, hash})
		return // other content under a used number
	}
	if f.gap != nil {
		s.recorded = append(s.recorded, events.Range{First: f.gap.First, Last: f.gap.Last, Reason: f.gap.Reason})
	}
	if f.lost != nil {
		c.lost.add(f.lost, s.name, a)
	}
	if r.run > 0 {
		c.producerRun(producerRunKey{r.producer, r.run}, r.runName).event(
			events.Kind(r.fields.Kind), r.fields.Sequence, hash, a, f.seal)
	}
}

func (c *completeness) manifest(r row, f fact, a ledger.Arrival) {
	s := c.sender(r.producer, r.producerName)
	reason := s.manifest(listing{
		Manifest: *f.manifest, hash: f.hash, signature: f.signature, grantFault: c.grantFault(r.leaf, f, a), at: a,
	})
	if reason != "" {
		c.found.add(Foreign{
			Leaf: r.leaf, Class: ledger.ClassManifest, Producer: s.name, Sequence: f.manifest.Last,
			StreamSequence: uint64(a.Stream), Reason: reason, SHA256: f.hash.String(),
		})
	}
}

func (c *completeness) again(producer int64, a ledger.Arrival) error {
	stmt := c.conn.Prep("SELECT l.run, coalesce(r.name, ''), l.kind FROM leaves l LEFT JOIN runs r ON r.run = l.run WHERE l.leaf = ?")
	stmt.BindInt64(1, a.Leaf)
	if _, err := stmt.Step(); err != nil {
		return err
	}
	run, runName, kind := stmt.ColumnInt64(0), stmt.ColumnText(1), events.Kind(stmt.ColumnText(2))
	if err := stmt.Reset(); err != nil {
		return err
	}
	c.repetition(producerRunKey{producer, run}, runName, kind, a)
	return nil
}

func (c *completeness) repetition(key producerRunKey, run string, kind events.Kind, a ledger.Arrival) {
	sequence, hash := uint64(a.Sequence), events.Hash(a.Hash)
	if c.found.isForeign(numberedContent{a.Producer, sequence, hash}, ledger.ClassEvent, a) {
		return
	}
	s := c.sender(key.producer, a.Producer)
	switch {
	case !s.event(sequence, hash, a.Stored):
		c.found.addSecond(numberedContent{s.name, sequence, hash})
	case key.run > 0:
		c.producerRun(key, run).take(kind, sequence, hash)
	}
}

func (c *completeness) producerRun(key producerRunKey, run string) *producerRun {
	p, ok := c.producerRuns[key]
	if !ok {
		p = &producerRun{name: run, by: c.producers[key.producer]}
		c.producerRuns[key] = p
	}
	return p
}

func (c *completeness) conclude(r *Report, newest ledger.Checkpoint, silence time.Duration) error {
	silent := c.silentBefore(newest, silence)
	now := later(newest.Time, c.asOf)
	unknown := c.lost.assign(c.producers)
	unproven := len(unknown) > 0
	for _, s := range c.sorted() {
		if c.partial {
			s.pulse = pulse{interval: s.interval} // its later manifests are not given
		}
		p, gaps, err := c.concludeSender(s)
		if err != nil {
			return err
		}
		pulseOf(s, &p, now)
		p.setFlight(s, now, now.Sub(silent))
		unproven = unproven || p.unproven(p.Received > 0 && s.received.highest() > p.Listed)
		r.Producers = append(r.Producers, p)
		r.Gaps = append(r.Gaps, gaps...)
	}
	r.Producers = append(r.Producers, unknown...)
	gaps, err := c.seals()
	if err = errors.Join(err, c.contrary.originals()); err != nil {
		return err
	}
	c.contrary.fill(r)
	r.Gaps = append(r.Gaps, gaps...)
	c.runs(r, silent)
	c.found.next.dropOvertaken(c.found.known)
	r.Foreign, r.ForeignCount = c.found.list[:min(maxFindings, len(c.found.list))], c.found.count
	r.Doubtful = unproven && !slices.ContainsFunc(r.Producers, Producer.isUnproven)
	r.Completeness = r.worst(unproven, newest.Size == 0)
	return nil
}

func (c *completeness) concludeSender(s *sender) (Producer, []Gap, error) {
	if err := c.checkResent(s); err != nil {
		return Producer{}, nil, err
	}
	s.unlisted(c.partial)
	p, gaps := s.conclude()
	return p, c.countable(gaps), nil
}

func (c *completeness) silentBefore(newest ledger.Checkpoint, silence time.Duration) time.Time {
	if silence <= 0 {
		silence = DefaultSilence
	}
	return later(newest.Time, c.asOf).Add(-silence)
}

func (p Producer) unproven(tail bool) bool {
	return p.isAbsent() || p.SilentSinceBreak || p.Unchecked || tail && !p.InFlight
}

// countable drops the gaps of a partial export unless they are due to altered events, because the
// ledger may have the missing events.
func (c *completeness) countable(gaps []Gap) []Gap {
	if !c.partial {
		return gaps
	}
	return slices.DeleteFunc(gaps, func(g Gap) bool { return g.Cause != CauseAltered })
}

func (c *completeness) sorted() []*sender {
	list := make([]*sender, 0, len(c.producers))
	for _, s := range c.producers {
		list = append(list, s)
	}
	slices.SortFunc(list, func(a, b *sender) int { return cmp.Compare(a.name, b.name) })
	return list
}

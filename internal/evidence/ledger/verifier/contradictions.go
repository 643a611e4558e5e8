package verifier

import (
	"cmp"
	"fmt"
	"slices"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/sqlitetx"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// DeniedResult is a successful result of a tool call that was denied. Either the denial was
// ignored, or the result is forged.
type DeniedResult struct {
	Denied   int64  `json:"denied"` // leaf of the denial
	Result   int64  `json:"result"` // leaf of the result
	Run      string `json:"run"`
	ToolCall string `json:"tool_call"` // id of the call
	Producer string `json:"producer"`  // producer of the result
}

type callKey struct{ run, call string }

type call struct {
	callKey
	isDenied bool // otherwise it succeeded
}

func callOf(e events.Event) *call {
	denied := e.DeniesCall()
	if e.ToolCall == "" || !denied && !e.CallSucceeded() {
		return nil
	}
	return &call{callKey{e.Run, e.ToolCall}, denied}
}

type calls struct {
	denied    map[events.Hash]int64
	succeeded map[events.Hash]success
}

type success struct {
	leaf     int64
	producer string
}

func (c *calls) add(f fact, producer string, isQuarantined bool) (d DeniedResult, ok bool) {
	if f.call == nil {
		return d, false
	}
	if c.denied == nil {
		c.denied, c.succeeded = make(map[events.Hash]int64), make(map[events.Hash]success)
	}
	key := events.HashOf(fmt.Appendf(nil, "%d %s%s", len(f.call.run), f.call.run, f.call.call))
	denial, isDenied := c.denied[key]
	found := success{f.leaf, producer}
	switch {
	case !f.call.isDenied:
		if isQuarantined {
			return d, false
		}
		if _, ok := c.succeeded[key]; !ok {
			c.succeeded[key] = found
		}
	case isDenied:
		return d, false
	default:
		denial, c.denied[key] = f.leaf, f.leaf
		found, isDenied = c.succeeded[key]
	}
	return DeniedResult{Denied: denial, Result: found.leaf, Run: f.call.run, ToolCall: f.call.call, Producer: found.producer}, isDenied
}

type identityClaim struct {
	FindingAt
	producer int64
}

type contradictions struct {
	conn *sqlite.Conn
	err  error // error of reading earlier contents

	findings []FindingAt
	rows     []int64         // number of the producer, by finding
	count    int64           // producer numbers of findings
	claims   []identityClaim // counted records that can be acknowledged
	twice    []FindingAt
	twins    []twin              // records of an export that may be recorded twice
	firsts   map[int64]recording // by leaf
	calls    calls
	denied   []DeniedResult

	twiceCount, deniedCount int64

	firstLeaves map[claimed]int64 // see firstLeaf
}

type claimed struct {
	id       string
	producer int64
	sequence uint64
}

func (c *contradictions) deniedResult(f fact, producer string, class ledger.Class) {
	d, ok := c.calls.add(f, producer, class == ledger.ClassQuarantine)
	if !ok {
		return
	}
	c.deniedCount++
	if len(c.denied) < maxFindings {
		c.denied = append(c.denied, d)
	}
}

func contradicts(class ledger.Class, finding ledger.Finding) bool {
	return class == ledger.ClassConflict || finding == ledger.FindingMisaddressed
}

func (c *contradictions) finding(r row, f fact, class ledger.Class, a ledger.Arrival) {
	at := FindingAt{
		Leaf: r.leaf, Class: class, Finding: ledger.Finding(r.fields.Finding), Producer: r.producerName,
		Sequence: r.fields.Sequence, ID: string(r.fields.ID), StreamSequence: uint64(a.Stream),
		SHA256: events.Hash(r.hash).String(), Run: r.runName, Kind: events.Kind(r.fields.Kind),
	}
	if at.Finding != ledger.FindingIDReused || !c.twin(at, f.recording) {
		c.add(at, r.producer)
	}
}

func (c *contradictions) add(at FindingAt, producer int64) {
	if contradicts(at.Class, at.Finding) {
		c.count++
		if len(c.claims) < maxForeign {
			c.claims = append(c.claims, identityClaim{at, producer})
		}
	}
	if len(c.findings) < maxFindings {
		c.findings = append(c.findings, at)
		c.rows = append(c.rows, producer)
	}
}

func (c *contradictions) fill(r *Report) {
	r.Findings, r.Contradictions = c.findings, c.count
	slices.SortStableFunc(r.Findings, func(a, b FindingAt) int { return cmp.Compare(a.Leaf, b.Leaf) })
	if room := maxFindings - len(r.Findings); room > 0 {
		r.Findings = append(r.Findings, c.twice[:min(room, len(c.twice))]...)
	}
	r.RecordedTwice = c.twiceCount
	r.DeniedResults, r.DeniedResultCount = c.denied, c.deniedCount
}

func (c *contradictions) originals() error {
	if c.conn == nil {
		return nil
	}
	if err := c.err; err != nil {
		return err
	}
	for i := range c.findings {
		if err := c.original(&c.findings[i], c.rows[i]); err != nil {
			return err
		}
	}
	for i := range c.twice {
		if err := c.original(&c.twice[i], 0); err != nil {
			return err
		}
	}
	return nil
}

func (c *contradictions) original(f *FindingAt, producer int64) error {
	if f.Class != ledger.ClassConflict {
		return nil
	}
	key := claimed{id: f.ID}
	if f.Finding == ledger.FindingSequenceReused {
		key = claimed{producer: producer, sequence: f.Sequence}
	}
	first, err := c.firstLeaf(key)
	if err == nil && first >= 0 && first < f.Leaf {
		f.First = &first
	}
	return err
}

func (c *contradictions) firstLeaf(key claimed) (int64, error) {
	if first, ok := c.firstLeaves[key]; ok {
		return first, nil
	}
	var first int64
	var err error
	if key.id != "" {
		first, err = sqlitetx.Int(c.conn, "SELECT coalesce(min(leaf), -1) FROM leaves WHERE id = ? AND class = 'event'", key.id)
	} else {
		first, err = sqlitetx.Int(c.conn, `SELECT coalesce(min(leaf), -1) FROM (
			SELECT leaf FROM leaves WHERE producer = ?1 AND sequence = ?2 AND class <> 'manifest'
			UNION ALL SELECT leaf FROM seen WHERE producer = ?1 AND sequence = ?2)`, key.producer, int64(key.sequence))
	}
	if c.firstLeaves == nil {
		c.firstLeaves = make(map[claimed]int64)
	}
	c.firstLeaves[key] = first
	return first, err
}

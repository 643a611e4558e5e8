package verifier

import (
	"bytes"
	"cmp"
	"slices"

	"zombiezen.com/go/sqlite"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// DeniedResult is a successful result of a tool call that was denied before. Either the denial
// was ignored, or the result is forged.
type DeniedResult struct {
	Denied   int64  `json:"denied"` // leaf of the denial
	Result   int64  `json:"result"` // leaf of the result
	Run      string `json:"run"`
	ToolCall string `json:"tool_call"`
	Producer string `json:"producer"`
}

type callKey struct{ run, call string }

// deniedCalls has the leaf of the first denial of each call.
type deniedCalls map[callKey]int64

var denyWord = []byte(string(events.VerdictDeny))

// note stores a denial. If e is a successful result of a denied call, note sets f.denied.
func (d deniedCalls) note(f *fact, e events.Event) {
	if e.ToolCall == "" {
		return
	}
	key := callKey{e.Run, e.ToolCall}
	switch f.kind { //nolint:exhaustive // only these kinds concern a call
	case events.ToolBefore, events.Approval:
		if !bytes.Contains(e.Data, denyWord) {
			return
		}
		if _, ok := d[key]; ok {
			return
		}
		if o, err := events.Payload[events.Outcome](e); err == nil && o.Verdict == events.VerdictDeny {
			d[key] = f.leaf
		}
	case events.ToolResult:
		denial, ok := d[key]
		if !ok {
			return
		}
		if r, err := events.Payload[events.ToolResultData](e); err == nil && r.Status == events.ToolSuccess {
			f.denied = &DeniedResult{Denied: denial, Result: f.leaf, Run: e.Run, ToolCall: e.ToolCall, Producer: e.Producer}
		}
	}
}

type contradictions struct {
	conn *sqlite.Conn
	err  error // error of reading earlier contents

	findings []FindingAt
	rows     []int64     // number of the producer, by finding
	count    int64       // producer numbers of findings
	claims   []FindingAt // counted records that can be acknowledged
	twice    []FindingAt
	twins    []twin // records of an export that may be recorded twice
	denied   []DeniedResult

	twiceCount, deniedCount int64
}

func (c *contradictions) deniedResult(f fact) {
	if f.denied == nil {
		return
	}
	c.deniedCount++
	if len(c.denied) < maxFindings {
		c.denied = append(c.denied, *f.denied)
	}
}

func contradicts(class ledger.Class, finding ledger.Finding) bool {
	return class == ledger.ClassConflict || finding == ledger.FindingMisaddressed
}

func (c *contradictions) finding(r row, f fact, class ledger.Class, a ledger.Arrival) {
	at := FindingAt{
		Leaf: r.leaf, Class: class, Finding: ledger.Finding(r.fields.Finding), Producer: r.producerName,
		Sequence: r.fields.Sequence, ID: string(r.fields.ID), StreamSequence: uint64(a.Stream),
		SHA256: events.Hash(r.hash).String(),
	}
	if at.Finding != ledger.FindingIDReused || !c.twin(at, f.recording) {
		c.add(at, r.producer)
	}
}

func (c *contradictions) add(at FindingAt, producer int64) {
	if contradicts(at.Class, at.Finding) {
		c.count++
		if len(c.claims) < maxForeign {
			c.claims = append(c.claims, at)
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

// originals adds the leaf of the first event to each finding. An export has no database for this.
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
	stmt := c.conn.Prep("SELECT leaf FROM leaves WHERE id = ?1 AND class = 'event' AND leaf < ?2")
	if f.Finding == ledger.FindingSequenceReused {
		stmt = c.conn.Prep(`SELECT min(leaf) FROM (SELECT leaf FROM leaves
			WHERE producer = ?1 AND sequence = ?3 AND class <> 'manifest' AND leaf < ?2
			UNION ALL SELECT leaf FROM seen WHERE producer = ?1 AND sequence = ?3 AND leaf < ?2)`)
		stmt.BindInt64(1, producer)
		stmt.BindInt64(3, int64(f.Sequence))
	} else {
		stmt.BindText(1, f.ID)
	}
	stmt.BindInt64(2, f.Leaf)
	return f.readOriginal(stmt)
}

func (f *FindingAt) readOriginal(stmt *sqlite.Stmt) error {
	row, err := stmt.Step()
	if err != nil {
		return err
	}
	if row && !stmt.ColumnIsNull(0) {
		f.First = new(stmt.ColumnInt64(0))
	}
	return stmt.Reset()
}

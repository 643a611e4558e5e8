package verifier

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// Matter is a finding of the verifier that a person can acknowledge with a signed order. The exit
// status can then ignore the finding.
type Matter struct {
	// ID is a hash of the facts of the finding. If these facts change, an earlier acknowledgement
	// no longer applies.
	ID       string     `json:"id"`
	Kind     MatterKind `json:"kind"` // gap, unsealed, unproven, foreign, misaddressed or id-reused
	Producer string     `json:"producer,omitempty"`
	Run      string     `json:"run,omitempty"`
	First    uint64     `json:"first,omitempty"`  // numbers of the producer
	Last     uint64     `json:"last,omitempty"`   // last of these numbers
	Reason   string     `json:"reason,omitempty"` // cause of a gap, or why the producer or record is a finding

	Acknowledged *Acknowledgement `json:"acknowledged,omitempty"` // the order that acknowledges it, absent for a new finding
}

// MatterKind is the kind of a finding, such as a gap.
type MatterKind string

// The values of [MatterKind]. They must not change, because the ids of findings depend on them.
const (
	MatterGap          MatterKind = "gap"
	MatterUnsealed     MatterKind = "unsealed"     // a run
	MatterUnproven     MatterKind = "unproven"     // a producer
	MatterForeign      MatterKind = "foreign"      // a record
	MatterMisaddressed MatterKind = "misaddressed" // a record
	MatterIDReused     MatterKind = "id-reused"    // a record
)

// Acknowledgement describes the signed order by which a person acknowledged a finding.
type Acknowledgement struct {
	Leaf   int64     `json:"leaf"`  // leaf of the event that contains the order
	Order  string    `json:"order"` // id of the order
	By     string    `json:"by"`    // person that the order names
	Reason string    `json:"reason"`
	Ticket string    `json:"ticket,omitempty"`
	Time   time.Time `json:"time"` // when the order was given
}

const matterHeader = "hooktrail/finding/v1"

type detail struct {
	name  string
	value any
}

func matterID(kind MatterKind, facts []detail) string {
	text := ledger.AppendField([]byte(matterHeader+"\n"), "finding", string(kind))
	for _, f := range facts {
		text = ledger.AppendField(text, f.name, fmt.Sprint(f.value))
	}
	return events.HashOf(text).String()
}

func (l *orderLog) acknowledge(leaf int64, o ledger.Order) {
	for _, id := range o.Findings {
		if _, ok := l.acknowledged[id]; !ok {
			l.acknowledged[id] = Acknowledgement{
				Leaf: leaf, Order: o.ID, By: o.By, Reason: o.Reason, Ticket: o.Ticket, Time: o.Time,
			}
		}
	}
}

// maxMatters limits the findings in a report, so that one order can acknowledge all of them.
const maxMatters = ledger.MaxOrderFindings

type matters struct {
	facts  *completeness
	report *Report
	list   []Matter
}

// matters must be called last, because it collects all other findings in r.
func (c *completeness) matters(r *Report) {
	m := &matters{facts: c, report: r}
	for _, g := range r.Gaps {
		m.add(Matter{Kind: MatterGap, Producer: g.Producer, Run: g.Run, First: g.First, Last: g.Last, Reason: string(g.Cause)},
			detail{"producer", g.Producer}, detail{"first", g.First}, detail{"last", g.Last}, detail{"cause", g.Cause}, detail{"run", g.Run})
	}
	for _, run := range r.Unsealed {
		m.add(Matter{Kind: MatterUnsealed, Run: run}, append([]detail{{"run", run}}, c.extents[run]...)...)
	}
	for _, p := range r.Producers {
		if p.isUnproven() {
			m.unproven(p)
		}
	}
	m.foreign()
	m.conclude()
}

func (m *matters) add(x Matter, facts ...detail) bool {
	x.ID = matterID(x.Kind, facts)
	a, known := m.facts.acknowledged[x.ID]
	if known {
		x.Acknowledged = &a
		m.report.AcknowledgedCount++
	} else {
		m.report.UnacknowledgedCount++
		if x.Kind != MatterForeign && x.Kind != MatterMisaddressed && x.Kind != MatterIDReused {
			m.report.OpenMatters++
		}
	}
	m.list = append(m.list, x)
	return known
}

func (m *matters) unproven(p Producer) {
	x := Matter{Kind: MatterUnproven, Producer: p.Name, First: p.Listed + 1, Last: p.Sent}
	absent := "" // omitted if empty, so that other ids do not change
	switch {
	case p.Lost != nil:
		x.Reason, absent = "its outbox is lost", fmt.Sprint("lost ", p.Lost.Last)
	case p.Silent:
		x.Reason, absent = "silent", "silent"
	case p.SilentSinceBreak:
		x.Reason = "unheard since the stream broke off"
	}
	m.add(x, detail{"producer", p.Name}, detail{"sent", p.Sent}, detail{"received", p.Received}, detail{"listed", p.Listed},
		detail{"manifests", p.Manifests}, detail{"unchecked", p.Unchecked}, detail{"unheard", p.SilentSinceBreak}, detail{"absent", absent})
}

type foreignNumber struct {
	producer string
	sequence uint64
}

func (m *matters) foreign() {
	settled := make(map[foreignNumber]bool)
	for _, f := range m.facts.found.list {
		known := m.add(Matter{Kind: MatterForeign, Producer: f.Producer, First: f.Sequence, Last: f.Sequence, Reason: f.Reason},
			detail{"class", f.Class}, detail{"producer", f.Producer}, detail{"sequence", f.Sequence}, detail{"sha256", f.SHA256})
		if n := (foreignNumber{f.Producer, f.Sequence}); f.Class != ledger.ClassManifest {
			before, ok := settled[n]
			settled[n] = known && (before || !ok)
		}
		if known {
			m.report.ForeignAcknowledged++
		}
	}
	isListed := int64(len(m.facts.found.list)) == m.facts.found.count
	for _, claim := range m.facts.contrary.claims {
		known := isListed && settled[foreignNumber{claim.Producer, claim.Sequence}]
		switch claim.Finding { //nolint:exhaustive // conflicts over a number
		case ledger.FindingMisaddressed:
			known = m.add(Matter{Kind: MatterMisaddressed, Producer: claim.Producer}, detail{"sha256", claim.SHA256})
		case ledger.FindingIDReused:
			known = m.add(Matter{Kind: MatterIDReused, Producer: claim.Producer, First: claim.Sequence, Last: claim.Sequence},
				detail{"sha256", claim.SHA256})
		}
		if known {
			m.report.ClaimsAcknowledged++
		}
	}
}

func (m *matters) conclude() {
	slices.SortStableFunc(m.list, func(a, b Matter) int { return cmp.Compare(isKnown(a), isKnown(b)) })
	m.report.Matters = m.list[:min(len(m.list), maxMatters)]
}

func isKnown(m Matter) int {
	if m.Acknowledged != nil {
		return 1
	}
	return 0
}

func (r *Report) incomplete() bool {
	found := r.Completeness != Complete && !r.isQuiet() || r.ForeignCount > 0
	if !r.AllowAcknowledged || !found {
		return found
	}
	return r.Doubtful || r.Completeness == Empty && !r.isQuiet() || r.ForeignCount > r.ForeignAcknowledged || len(r.Matters) == 0 || r.OpenMatters > 0
}

func (r *Report) contradicts() bool {
	claims := r.Contradictions
	if r.AllowAcknowledged {
		claims -= r.ClaimsAcknowledged
	}
	return claims+r.DeniedResultCount > 0
}

func extentOf(parts []*producerRun) (facts []detail) {
	for _, p := range parts {
		facts = append(facts, detail{"part", fmt.Sprintf("%d %d %s", p.all, p.last, p.by.name)})
	}
	slices.SortFunc(facts, func(a, b detail) int { return strings.Compare(fmt.Sprint(a.value), fmt.Sprint(b.value)) })
	return facts
}

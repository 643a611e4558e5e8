package verifier

import (
	"encoding/json"
	"slices"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// RecordFindings are the findings about single records in the whole ledger. A bundle contains them,
// because it may lack one of two records that contradict each other.
type RecordFindings struct {
	Foreign           []Foreign      `json:"foreign,omitempty"`
	ForeignCount      int64          `json:"foreign_count,omitempty"`
	Contradicting     []FindingAt    `json:"contradicting,omitempty"` // records that claim another one's identity
	Contradictions    int64          `json:"contradictions,omitempty"`
	RecordedTwice     int64          `json:"recorded_twice,omitempty"`
	DeniedResults     []DeniedResult `json:"denied_results,omitempty"`
	DeniedResultCount int64          `json:"denied_result_count,omitempty"`
}

// Limits of each list in [RecordFindings]. Names in records can be long, so there is also a limit
// in bytes.
const (
	maxRecordFindings = 1000
	maxRecordBytes    = 1 << 20 // as JSON
)

func shorten[T any](list []T) []T {
	bytes := 0
	for i, v := range list[:min(len(list), maxRecordFindings)] {
		text, err := json.Marshal(v)
		if bytes += len(text); err != nil || bytes > maxRecordBytes {
			return list[:i]
		}
	}
	return list[:min(len(list), maxRecordFindings)]
}

func recordFindingsOf(c *completeness) RecordFindings {
	found, contrary := &c.found, &c.contrary
	var claims []FindingAt
	for _, claim := range contrary.claims[:min(len(contrary.claims), maxRecordFindings)] {
		claims = append(claims, claim.FindingAt)
	}
	return RecordFindings{
		Foreign: shorten(found.list), ForeignCount: found.count,
		Contradicting: shorten(claims), Contradictions: contrary.count, RecordedTwice: contrary.twiceCount,
		DeniedResults: shorten(contrary.denied), DeniedResultCount: contrary.deniedCount,
	}
}

// Ignore makes the checker ignore the given records, which were sent under the name of another
// producer. A part of a ledger may lack the manifests that show this. Call Ignore after
// [ExportChecker.Without] and before the first record.
func (c *ExportChecker) Ignore(list []Foreign) {
	c.facts.ignored = make(map[int64]bool)
	for _, f := range list {
		hash, err := events.ParseHash(f.SHA256)
		switch {
		case f.Class == ledger.ClassManifest:
			c.facts.ignored[f.Leaf] = true
		case err == nil:
			c.facts.found.known.addContent(numberedContent{f.Producer, f.Sequence, hash})
		}
	}
}

// TakeOver replaces the checker's findings about single records with f, which are the findings in
// the whole ledger. Call it after [ExportChecker.Conclude] or [ExportChecker.Findings], when
// r.Unsealed lists the runs of the whole ledger.
func (c *ExportChecker) TakeOver(r *Report, f RecordFindings) {
	found, contrary := &c.facts.found, &c.facts.contrary
	found.list, found.count = f.Foreign, f.ForeignCount
	harmless := slices.DeleteFunc(contrary.findings, func(at FindingAt) bool { return contradicts(at.Class, at.Finding) })
	all := slices.Concat(f.Contradicting, harmless)
	contrary.findings = all[:min(len(all), maxFindings)]
	contrary.claims, contrary.count = nil, f.Contradictions
	for _, at := range f.Contradicting {
		contrary.claims = append(contrary.claims, identityClaim{FindingAt: at})
	}
	contrary.twice, contrary.twiceCount = nil, f.RecordedTwice
	contrary.denied, contrary.deniedCount = f.DeniedResults, f.DeniedResultCount
	c.facts.extend(r.Unsealed)
	c.Findings(r)
	r.Foreign, r.ForeignCount = f.Foreign[:min(len(f.Foreign), maxFindings)], f.ForeignCount
}

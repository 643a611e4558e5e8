package auditor

import (
	"fmt"
	"slices"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

func (l lines) setApart(r verifier.Report) {
	apart := max(r.SetApart, r.Contradictions+r.RecordedTwice)
	if apart == 0 {
		return
	}
	text := plural(apart, "record", "records")
	if r.Contradictions > 0 {
		text += fmt.Sprintf(", %s the id, number or subject of another one", plural(r.Contradictions, "claims", "claim"))
	}
	if r.RecordedTwice > 0 {
		text += fmt.Sprintf(", %s an event again, with other executions of hooks or another estimate", plural(r.RecordedTwice, "records", "record"))
	}
	l.print("Set apart", "", text)
	findings := slices.DeleteFunc(slices.Clone(r.Findings), func(f verifier.FindingAt) bool { return f.RecordedTwice })
	for i, f := range findings {
		if l.more(i, len(findings)) {
			break
		}
		text := fmt.Sprintf("leaf %d, %s: %s, producer %s #%d, stream sequence %d",
			f.Leaf, f.Class, f.Finding, f.Producer, f.Sequence, f.StreamSequence)
		if f.ID != "" {
			text += ", event " + f.ID
		}
		if f.First != nil {
			text += fmt.Sprintf(", first content at leaf %d", *f.First)
		}
		l.print("", "  ", text)
	}
}

func (l lines) deniedResults(r verifier.Report) {
	if r.DeniedResultCount == 0 {
		return
	}
	text := plural(r.DeniedResultCount, "denied call", "denied calls") + " with a successful result"
	l.print("Denied", l.verdict("ALARM", l.palette.Bad), text)
	for i, d := range r.DeniedResults {
		if l.more(i, int(r.DeniedResultCount)) {
			break
		}
		l.print("", "  ", fmt.Sprintf("run %s, call %s: denied at leaf %d, result at leaf %d by producer %s",
			d.Run, d.ToolCall, d.Denied, d.Result, d.Producer))
	}
}

package auditor

import (
	"fmt"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

func absent(r verifier.Report) (texts []string) {
	var silent, lost []string
	for _, p := range r.Producers {
		switch {
		case p.Lost != nil:
			lost = append(lost, lostText(p))
		case p.Silent:
			silent = append(silent, fmt.Sprintf("%s since %s", p.Name, p.Heard.Format(time.RFC3339)))
		}
	}
	if len(silent) > 0 {
		texts = append(texts, "SILENT, open and not heard of: "+list(silent),
			"  start their service again, or announce their end with publisher outbox flush")
	}
	if len(lost) > 0 {
		texts = append(texts, "LOST, the outbox is gone: "+list(lost))
	}
	return texts
}

func lostText(p verifier.Producer) string {
	text := p.Name
	if p.Lost.Outbox != "" {
		text += " (outbox " + p.Lost.Outbox + ")"
	}
	return fmt.Sprintf("%s noticed %s, last known number %d", text, p.Lost.Time.Format(time.RFC3339), max(p.Sent, p.Lost.Last))
}

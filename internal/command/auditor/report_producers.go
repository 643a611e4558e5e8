package auditor

import (
	"fmt"
	"slices"
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
		texts = append(texts, "LOST, the outbox is gone: "+list(lost),
			"  put it back from a backup, or record with auditor acknowledge that the loss is known")
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

func gapLines(r verifier.Report) []string {
	var texts []string
	for _, p := range r.Producers {
		var parts []string
		for _, g := range r.Gaps {
			if g.Producer == p.Name {
				parts = append(parts, gapText(g))
			}
		}
		if len(parts) > 0 {
			texts = append(texts, fmt.Sprintf("producer %s sent %s, ledger has %s: %s", p.Name,
				thousands(int64(p.Sent)), thousands(int64(p.Received)), list(parts)))
		}
	}
	if r.Run != "" && slices.ContainsFunc(r.Gaps, func(g verifier.Gap) bool { return g.Run == "" }) {
		texts = append(texts, "the ledger does not show the run of a missing event")
	}
	return texts
}

func gapText(g verifier.Gap) string {
	span := numbers(g.First, g.Last)
	reason := ""
	if g.Reason != "" {
		reason = ": " + g.Reason
	}
	switch g.Cause {
	case verifier.CauseRecorded:
		return span + " missing (the producer recorded it" + reason + ")"
	case verifier.CauseProducer:
		return span + " missing (lost at the producer" + reason + ")"
	case verifier.CauseStream:
		return span + " missing (lost in the stream)"
	case verifier.CauseAltered:
		return span + " not as the producer sent them" + reason
	case verifier.CauseManifest:
		return "the manifest of " + span + " missing"
	case verifier.CauseSeal:
		return span + " not what the seal of run " + g.Run + " counts"
	}
	return span
}

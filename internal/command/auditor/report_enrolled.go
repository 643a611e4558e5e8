package auditor

import (
	"fmt"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

func (l lines) enrolled(r verifier.Report) {
	if len(r.Producers) == 0 {
		return
	}
	verdict := ""
	if missing := len(r.NotEnrolled); r.RequireEnrolled && missing > 0 {
		verdict = l.verdict(fmt.Sprintf("MISSING (%d)", missing), l.palette.Bad)
	}
	text := fmt.Sprintf("%s of %s", thousands(int64(r.Enrolled)), plural(int64(len(r.Producers)), "producer", "producers"))
	var without, since []string
	for _, p := range r.Producers {
		switch {
		case p.GrantFault != "":
			without = append(without, fmt.Sprintf("%s (its grant does not count: %s)", p.Name, p.GrantFault))
		case !p.Enrolled:
			without = append(without, p.Name)
		case !p.EnrolledFrom.IsZero():
			since = append(since, fmt.Sprintf("%s since %s", p.Name, p.EnrolledFrom.Format(time.RFC3339)))
		}
	}
	if len(without) > 0 {
		text += "; not enrolled: " + list(without)
	}
	l.print("Enrolled", verdict, text)
	if len(without) > 0 && !r.RequireEnrolled {
		l.print("", "  ", "This is a failure with --require-enrolled only. To enrol a producer of another data directory, run "+
			"auditor issuer endorse --for DIRECTORY. Then run publisher outbox flush in the directory of the producer, if no service runs there.")
	}
	if len(since) > 0 {
		l.print("", "  ", list(since))
	}
}

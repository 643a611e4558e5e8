package auditor

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

func shortID(id string) string { return id[:min(12, len(id))] }

func (l lines) matters(r verifier.Report) {
	news := make([]verifier.Matter, 0, len(r.Matters))
	var known []verifier.Matter
	for _, m := range r.Matters {
		if m.Acknowledged == nil {
			news = append(news, m)
		} else {
			known = append(known, m)
		}
	}
	if len(news) > 0 {
		l.print("New", "", plural(r.UnacknowledgedCount, "finding", "findings")+" that auditor acknowledge can name")
	}
	for i, m := range news {
		if l.more(i, int(r.UnacknowledgedCount)) {
			break
		}
		l.print("", "  ", shortID(m.ID)+"  "+matterText(m))
	}
	if len(known) > 0 {
		text := plural(r.AcknowledgedCount, "finding", "findings")
		if r.AllowAcknowledged {
			text += ", which the exit status is without"
		}
		l.print("Acknowledged", "", text)
	}
	for i, m := range known {
		if l.more(i, int(r.AcknowledgedCount)) {
			break
		}
		l.print("", "  ", shortID(m.ID)+"  "+matterText(m)+": "+acknowledgedText(*m.Acknowledged))
	}
}

func matterText(m verifier.Matter) string {
	span := numbers(m.First, m.Last)
	switch m.Kind {
	case verifier.MatterGap:
		return gapText(verifier.Gap{First: m.First, Last: m.Last, Cause: verifier.Cause(m.Reason), Run: m.Run}) + ", producer " + m.Producer
	case verifier.MatterUnsealed:
		return "run " + m.Run + " ended without a seal"
	case verifier.MatterUnproven:
		text := "producer " + m.Producer + " does not prove"
		if m.Reason != "" {
			return text + " what it sent: " + m.Reason
		}
		if m.First > m.Last {
			return text + " all events"
		}
		return text + " " + span
	case verifier.MatterForeign:
		return "foreign record " + span + " of producer " + m.Producer + ": " + m.Reason
	case verifier.MatterMisaddressed:
		return "misaddressed record on a subject of producer " + m.Producer
	case verifier.MatterIDReused:
		return "record " + span + " of producer " + m.Producer + " has the id of another one"
	}
	return string(m.Kind)
}

func numbers(first, last uint64) string {
	span := "#" + strconv.FormatUint(first, 10)
	if last > first {
		span += "–#" + strconv.FormatUint(last, 10)
	}
	return span
}

func acknowledgedText(a verifier.Acknowledgement) string {
	who := []string{a.By, a.Time.Format(time.DateOnly)}
	if a.Ticket != "" {
		who = append(who, "ticket "+a.Ticket)
	}
	return fmt.Sprintf("%s: %s", strings.Join(who, ", "), a.Reason)
}

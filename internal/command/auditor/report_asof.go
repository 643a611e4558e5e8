package auditor

import (
	"fmt"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
)

func (l lines) asOf(r verifier.Report) {
	if r.AsOf != nil {
		facts := append(inFlightTexts(r), numberOfRuns(r.Open, "open"))
		l.print("As of", "", asOfText(*r.AsOf, strings.Join(facts, ", ")))
	}
}

func inFlightTexts(r verifier.Report) (texts []string) {
	var flights []string
	for _, p := range r.Producers {
		if p.InFlight {
			flights = append(flights, fmt.Sprintf("%s of producer %s since %s",
				thousands(int64(p.InFlightEvents)), p.Name, p.InFlightSince.Format(time.RFC3339)))
		}
	}
	if len(flights) > 0 {
		texts = append(texts, "in flight without a manifest: "+list(flights))
	}
	return texts
}

func numberOfRuns(runs []string, state string) string {
	if len(runs) == 0 {
		return "no " + state + " run"
	}
	return plural(int64(len(runs)), state+" run", state+" runs")
}

func runsText(runs []string, state string) string {
	text := numberOfRuns(runs, state)
	if len(runs) > 0 {
		text += ": " + list(runs)
	}
	return text
}

func asOfText(a verifier.AsOf, runs string) string {
	facts := []string{a.Time.Format(time.RFC3339) + ageText(a.Age), "stream position " + thousands(int64(a.Position))}
	if a.OtherStream {
		facts = append(facts, otherStream)
	}
	switch {
	case a.Later != nil && a.Later.Any():
		facts = append(facts, laterText(*a.Later)+" in the stream")
	case a.Later != nil:
		facts = append(facts, "no later event in the stream")
	case a.NotAsked != "":
		facts = append(facts, "stream not asked ("+a.NotAsked+")")
	default:
		facts = append(facts, "stream not asked")
	}
	facts = append(facts, waitingTexts(a, true)...)
	if a.Unread != "" {
		facts = append(facts, "not all outboxes read ("+a.Unread+")")
	}
	return strings.Join(append(facts, runs), ", ")
}

const otherStream = "the server has another event stream than the ledger"

func ageText(age time.Duration) string {
	if age >= 2*day {
		return fmt.Sprintf(" (%s ago)", plural(int64(age/day), "day", "days"))
	}
	return fmt.Sprintf(" (%s ago)", age.Round(time.Second))
}

func laterText(l verifier.Later) string {
	text := plural(l.Events, "later event", "later events")
	if l.Events == 0 && l.Manifests > 0 {
		text = plural(l.Manifests, "later manifest", "later manifests")
	}
	if l.AtLeast && l.Events+l.Manifests == 0 {
		return "too many messages to compare"
	}
	if l.AtLeast {
		text = "at least " + text
	}
	return text
}

func waitingTexts(a verifier.AsOf, uses bool) (texts []string) {
	for _, w := range a.Outboxes {
		if w.Uses && !uses && w.Lost+w.Damaged == 0 {
			continue
		}
		n := int64(w.Events)
		text := plural(n, "event waits", "events wait") + " in outbox " + w.Outbox
		if w.Uses {
			text = plural(n, "record of use waits", "records of use wait") + " in outbox " + w.Outbox
		}
		if w.Lost > 0 {
			text += fmt.Sprintf(" with %s that the stream does not know", plural(int64(w.Lost), "loss", "losses"))
		}
		if w.Damaged > 0 {
			text += " with " + plural(int64(w.Damaged), "damaged record", "damaged records")
		}
		texts = append(texts, text)
	}
	texts = append(texts, unwrittenTexts(a, uses)...)
	for _, m := range a.Missing {
		state := "is gone"
		if m.Damaged {
			state = "is damaged"
		}
		text := fmt.Sprintf("outbox %s of producer %s %s", m.Outbox, m.Producer, state)
		if m.Last > 0 {
			text += fmt.Sprintf(" (last known number %d)", m.Last)
		}
		texts = append(texts, text)
	}
	return texts
}

func unwrittenTexts(a verifier.AsOf, uses bool) (texts []string) {
	for _, w := range a.Unwritten {
		text := plural(int64(w.Events), "event", "events")
		switch {
		case w.Uses && !uses:
			continue
		case w.Uses:
			text = plural(int64(w.Events), "record of use", "records of use")
		}
		texts = append(texts, text+" of outbox "+w.Outbox+" in the stream (write them with auditor serve --drain)")
	}
	return texts
}

func behindLines(r verifier.Report) (texts []string) {
	if r.AsOf == nil || !r.AsOf.Behind() {
		return nil
	}
	if r.AsOf.OtherStream {
		texts = append(texts, otherStream+": name the right server with --nats-url, or, if its stream was replaced, start the auditor")
	}
	if l := r.AsOf.Later; l != nil && l.Any() {
		texts = append(texts, fmt.Sprintf("not in the ledger yet: %s in the stream, up to position %s",
			laterText(*l), thousands(int64(l.Last))))
	}
	for _, text := range waitingTexts(*r.AsOf, false) {
		texts = append(texts, "not in the ledger yet: "+text)
	}
	return texts
}

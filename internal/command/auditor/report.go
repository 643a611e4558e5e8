package auditor

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/verifier"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
)

const (
	maxLines  = 20 // lines of one kind
	maxListed = 5  // names in one line
)

type lines struct {
	out     io.Writer
	palette cli.Palette
}

func (l lines) print(label, verdict, text string) {
	if label != "" {
		label += ":"
	}
	if verdict != "" {
		verdict += " "
	}
	fmt.Fprintf(l.out, "%-14s%s%s\n", label, verdict, termtext.Printable(oneLine(text)))
}

// PrintReport prints r as text.
func PrintReport(out io.Writer, r verifier.Report) {
	l := lines{out: out, palette: cli.PaletteFor(out)}
	l.integrity(r)
	l.only(r)
	printRest(l, r)
}

func printRest(l lines, r verifier.Report) {
	l.completeness(r)
	l.foreign(r)
	l.enrolled(r)
	l.anchor(r.Anchor)
	l.asOf(r)
	l.breaks(r)
	l.trusted(r)
	l.witnesses(r.Witnesses)
	l.timeStamps(r.TimeStamps)
	l.redacted(r.Redacted)
	printUnclean(l, r.Redacted)
	l.keys(r)
	l.setApart(r)
	l.deniedResults(r)
	l.matters(r)
	fmt.Fprintf(l.out, "%-14s%s\n", "Not proven:", r.NotProven)
}

func (l lines) verdict(text string, paint func(string) string) string {
	return paint(text) + strings.Repeat(" ", max(0, 12-len(text)))
}

func (l lines) integrity(r verifier.Report) {
	if r.Integrity == verifier.Verified {
		facts := []string{
			plural(r.Leaves, "leaf", "leaves"), "checkpoint " + r.Checkpoint.Time.Format(time.RFC3339), "key " + r.Checkpoint.Key,
		}
		if r.Witnesses != nil {
			facts = append(facts, r.Witnesses.String())
		}
		l.print("Integrity", l.verdict(string(r.Integrity), l.palette.Good), strings.Join(facts, ", "))
	} else {
		l.print("Integrity", l.verdict(string(r.Integrity), l.palette.Bad), plural(int64(r.ProblemCount), "problem", "problems"))
	}
	for i, p := range r.Problems {
		if l.more(i, r.ProblemCount) {
			break
		}
		l.print("", "  ", p)
	}
	for i, s := range r.Streams {
		if i > 0 {
			l.print("", "  ", fmt.Sprintf("the stream was replaced by one of %s", s.Created.Format(time.RFC3339)))
		}
	}
}

func (l lines) more(i, total int) bool {
	if i < maxLines {
		return false
	}
	l.print("", "  ", fmt.Sprintf("and %d more", total-i))
	return true
}

func (l lines) completeness(r verifier.Report) {
	word, paint := string(r.Completeness), l.palette.Warn
	var texts []string
	switch r.Completeness {
	case verifier.Complete:
		paint = l.palette.Good
		facts := []string{plural(int64(len(r.Producers)), "producer", "producers")}
		if onlyText(r) == "" {
			facts = append(facts, plural(eventsHeld(r), "event", "events"))
		}
		texts = []string{strings.Join(append(facts, plural(int64(r.Runs.Sealed), "run", "runs")+" sealed"), ", ")}
	case verifier.Gaps:
		word, paint = fmt.Sprintf("%s (%d)", word, len(r.Gaps)), l.palette.Bad
		texts = gapLines(r)
	case verifier.Unsealed:
		word = fmt.Sprintf("%s (%d)", word, len(r.Unsealed))
	case verifier.Empty:
		texts = []string{"the ledger has no records"}
		if onlyText(r) != "" {
			texts = []string{"the ledger has no events of that time"}
		}
	case verifier.Unproven:
		texts = slices.Concat(unprovenLines(r), absent(r), unheard(r), behindLines(r))
	}
	texts = append(append(texts, r.Unproven...), runLines(r)...)
	if len(texts) == 0 {
		texts = []string{""}
	}
	l.print("Completeness", l.verdict(word, paint), texts[0])
	for i, t := range texts[1:] {
		if l.more(i, len(texts)-1) {
			break
		}
		l.print("", strings.Repeat(" ", 12), t)
	}
}

func runLines(r verifier.Report) (texts []string) {
	if len(r.Unsealed) > 0 {
		texts = append(texts, "ended without a seal: "+list(r.Unsealed))
	}
	if len(r.Open) > 0 {
		texts = append(texts, runsText(r.Open, "open"))
	}
	if r.SeenAgain > 0 {
		texts = append(texts, plural(r.SeenAgain, "event", "events")+" seen again")
	}
	return texts
}

func eventsHeld(r verifier.Report) (n int64) {
	for _, p := range r.Producers {
		n += int64(p.Received)
	}
	return n
}

func unprovenLines(r verifier.Report) []string {
	var without, behind, unchecked []string
	for _, p := range r.Producers {
		switch {
		case p.Lost != nil && p.Sent == 0:
		case p.Manifests == 0:
			without = append(without, p.Name)
		case p.Sent > p.Listed && !p.InFlight:
			behind = append(behind, behindText(p))
		}
		if p.Unchecked {
			unchecked = append(unchecked, p.Name)
		}
	}
	var texts []string
	if len(without) > 0 {
		texts = append(texts, "producers without manifests: "+list(without),
			"  no manifest counts what they sent: let them send with publisher, or with the Go package publish")
	}
	if len(behind) > 0 {
		texts = append(texts, "events that no manifest lists: "+list(behind))
	}
	if len(unchecked) > 0 {
		texts = append(texts, "too many events before their manifest, or too many manifests, to compare them: "+list(unchecked),
			"  the events are there: compare them with their source, and record with auditor acknowledge that they are known;"+
				" a sender with publisher or the Go package publish sends a manifest with each batch")
	}
	return texts
}

func behindText(p verifier.Producer) string {
	if p.InFlightSince.IsZero() {
		return fmt.Sprintf("%s (from #%d)", p.Name, p.Listed+1)
	}
	return fmt.Sprintf("%s (from #%d, since %s)", p.Name, p.Listed+1, p.InFlightSince.Format(time.RFC3339))
}

func (l lines) trusted(r verifier.Report) {
	if r.Trusted != nil {
		l.compared("Trusted", *r.Trusted)
	}
	for _, k := range r.Anchored {
		l.compared("Kept", k)
	}
	if r.Untrusted {
		text := "--require-trusted needs a checkpoint that was stored elsewhere: name one with --trusted"
		if slices.ContainsFunc(r.Anchored, func(k verifier.Trusted) bool { return !k.Unusable }) {
			text += "; a checkpoint next to the ledger does not count"
		}
		l.print("Trusted", l.verdict("NOT FOUND", l.palette.Warn), text)
	}
}

func (l lines) compared(label string, t verifier.Trusted) {
	at := ""
	if t.From != "" {
		at = t.From + ": "
	}
	if t.Absent {
		l.print(label, l.verdict("NOT YET", l.palette.Warn), at+t.Reason)
		return
	}
	if t.Unusable {
		l.print(label, l.verdict("NOT FOUND", l.palette.Warn), at+t.Reason)
		return
	}
	at += fmt.Sprintf("checkpoint %s, %s", t.Time.Format(time.RFC3339), plural(t.Size, "leaf", "leaves"))
	if t.Diverged {
		l.print(label, l.verdict("DIVERGED", l.palette.Bad), at+": "+t.Reason)
		return
	}
	l.print(label, l.verdict("AGREES", l.palette.Good), at)
}

func list(names []string) string {
	if len(names) > maxListed {
		return fmt.Sprintf("%s, and %d more", strings.Join(names[:maxListed], ", "), len(names)-maxListed)
	}
	return strings.Join(names, ", ")
}

func plural(n int64, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return thousands(n) + " " + many
}

func thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || r == '\r' {
			return ' '
		}
		return r
	}, s)
}

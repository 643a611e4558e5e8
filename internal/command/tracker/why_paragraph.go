package tracker

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/store"
	"github.com/hooktrail/hooktrail/internal/tracking/tracker"
)

func paragraph(x tracker.Explanation) string {
	var parts []string
	switch {
	case x.Unconsidered != "":
		return x.Unconsidered
	case x.Issue != nil:
		parts = append(parts, issueSentence(*x.Issue))
		if n := len(x.Decisions); n > 0 {
			parts = append(parts, decisionSentences(x.Decisions[0]))
			if n > 2 {
				parts = append(parts, fmt.Sprintf("Then it changed %s (tracker show %s lists the changes). The last change:", times(n-1), x.Issue.ID))
			}
			if n > 1 {
				parts = append(parts, decisionSentences(x.Decisions[n-1]))
			}
		}
		if x.Others > 0 {
			parts = append(parts, fmt.Sprintf("%d more of its events changed nothing.", x.Others))
		}
	default:
		for _, d := range x.Decisions {
			parts = append(parts, decisionSentences(d))
		}
	}
	return strings.Join(parts, " ")
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}

func issueSentence(i tracker.Issue) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Issue %s, %q, is a %s issue", i.ID, termtext.OneLine(i.Title), i.Kind)
	if i.Run != "" {
		fmt.Fprintf(&b, " of run %s", termtext.OneLine(i.Run))
	}
	fmt.Fprintf(&b, " and %s since %s", strings.ReplaceAll(string(i.Status), "_", " "), termtext.Time(i.Updated))
	if i.Reason != "" {
		fmt.Fprintf(&b, ": %s", strings.TrimSuffix(termtext.OneLine(i.Reason), "."))
	}
	b.WriteByte('.')
	if i.Occurrences > 1 {
		fmt.Fprintf(&b, " It is made of %d events, from %s to %s.", i.Occurrences, termtext.Time(i.First), termtext.Time(i.Last))
	}
	return b.String()
}

var verbs = map[rules.Action]string{
	rules.None:   "made no issue",
	rules.Record: "was added to an issue",
	rules.Update: "changed an issue",
	rules.Create: "made an issue",
}

func decisionSentences(r tracker.Reasoning) string {
	var b strings.Builder
	fmt.Fprintf(&b, "The %s %s", r.Kind, termtext.OneLine(r.Event))
	if r.Run != "" {
		fmt.Fprintf(&b, " of run %s", termtext.OneLine(r.Run))
	}
	reason := strings.TrimSuffix(termtext.OneLine(r.Reason), ".")
	if r.Reason == store.Erased {
		reason = "why was erased, by an order about its evidence"
	}
	fmt.Fprintf(&b, " at %s %s: %s.", termtext.Time(r.Time), verbs[r.Action], reason)
	if len(r.Issues) > 0 {
		fmt.Fprintf(&b, " It belongs to %s.", termtext.OneLine(strings.Join(r.Issues, ", ")))
	}
	for i, name := range slices.Sorted(maps.Keys(r.Counters)) {
		lead := ","
		if i == 0 {
			lead = " Counted:"
		}
		fmt.Fprintf(&b, "%s %s %d against %d", lead, termtext.OneLine(name), r.Counters[name][0], r.Counters[name][1])
	}
	if len(r.Counters) > 0 {
		b.WriteByte('.')
	}
	fmt.Fprintf(&b, " Rules: %s.", termtext.OneLine(r.Rule))
	if r.Flip != "" {
		fmt.Fprintf(&b, " It would have come out otherwise with %s.", strings.TrimSuffix(termtext.OneLine(r.Flip), "."))
	}
	fmt.Fprintf(&b, " (Configuration %.12s.)", r.Config)
	return b.String()
}

package provider

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
)

var entryDate = regexp.MustCompile(`\d{4}-\d{2}-\d{2}`)

type entry struct {
	text string
	date string // empty if the date is unknown
	at   int    // index in the file
}

func newest(history string, n int) string {
	entries := entriesOf(history)
	if len(entries) == 0 {
		return history
	}
	if len(entries) > n {
		slices.SortFunc(entries, func(a, b entry) int { return cmp.Or(cmp.Compare(b.date, a.date), b.at-a.at) })
		entries = entries[:n]
		slices.SortFunc(entries, func(a, b entry) int { return a.at - b.at })
	}
	texts := make([]string, len(entries))
	for i, e := range entries {
		texts[i] = e.text
	}
	return joined(texts)
}

func entriesOf(history string) []entry {
	const heading = "### "
	var entries []entry
	for line := range strings.Lines(history) {
		if strings.HasPrefix(line, heading) {
			e := entry{at: len(entries)}
			if dates := entryDate.FindAllString(line, -1); dates != nil {
				e.date = dates[len(dates)-1]
			} else if len(entries) > 0 {
				e.date = entries[len(entries)-1].date
			}
			entries = append(entries, e)
		}
		if len(entries) > 0 {
			entries[len(entries)-1].text += line
		}
	}
	return entries
}

package provider

import (
	"regexp"
	"slices"
	"strings"
)

// entryDate is the day that an entry's heading names.
var entryDate = regexp.MustCompile(`\d{4}-\d{2}-\d{2}`)

// entry is a section of a history: a heading of the third level and what follows.
type entry struct {
	text string
	date string // empty: none
	at   int    // its place in the file
}

// newest returns the n newest entries of a history, in the order of the file. An
// entry is as new as the last date in its heading; one without a date is as new as
// the entry before it. Of entries that are as new as each other the later ones
// count as newer. A history without entries is returned as it is.
func newest(history string, n int) string {
	entries := entriesOf(history)
	if len(entries) == 0 {
		return history
	}
	if len(entries) > n {
		slices.SortStableFunc(entries, func(a, b entry) int {
			if c := strings.Compare(b.date, a.date); c != 0 {
				return c
			}
			return b.at - a.at
		})
		entries = entries[:n]
		slices.SortFunc(entries, func(a, b entry) int { return a.at - b.at })
	}
	texts := make([]string, len(entries))
	for i, e := range entries {
		texts[i] = e.text
	}
	return joined(texts)
}

// entriesOf splits a history.
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

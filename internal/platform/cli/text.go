package cli

import (
	"strings"
	"time"
)

// OneLine returns s, which may have any character, with blanks for its line breaks:
// it makes no lines of its own.
func OneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// mostCell is how many characters of a text stand in a table.
const mostCell = 80

// Cell returns s for a table: short, on one line, and nothing that a terminal
// obeys.
func Cell(s string) string {
	s = OneLine(s)
	if runes := []rune(s); len(runes) > mostCell {
		s = string(runes[:mostCell-1]) + "…"
	}
	return Printable(s)
}

// Time returns t as people read it: 2026-03-02 09:00:00 UTC.
func Time(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 MST") }

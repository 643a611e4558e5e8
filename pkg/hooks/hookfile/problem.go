package hookfile

import (
	"fmt"
	"slices"
	"strings"
)

// Problem is something wrong in a file, and what to do about it. It holds the
// names of keys, and the values of those that take one of a few words; no other
// text of the file.
type Problem struct {
	File    string `json:"file"`
	Line    int    `json:"line"`   // from 1
	Column  int    `json:"column"` // from 1, in characters
	Message string `json:"message"`
}

// String returns file:line:column: message.
func (p Problem) String() string {
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
}

// InvalidError holds all that is wrong in a file, in the order of its lines.
// There is at least one problem.
type InvalidError struct{ Problems []Problem }

// Error returns the problems, one a line.
func (e *InvalidError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// sorted orders problems as a reader meets them.
func sorted(problems []Problem) []Problem {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
	return problems
}

// oneOf says which words can be used instead of got, the likely one first.
func oneOf(got string, words []string) string {
	if near := nearest(got, words); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "there are " + strings.Join(words, ", ")
}

// nearest returns the word that got was probably meant to be.
func nearest(got string, words []string) string {
	best, least := "", 3
	if len(got) > 64 {
		return ""
	}
	for _, word := range words {
		if d := distance(strings.ToLower(got), strings.ToLower(word)); d < least && d < len(word) {
			best, least = word, d
		}
	}
	return best
}

// distance returns how many letters have to be inserted, removed or replaced to
// make b of a.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, diagonal+cost)
		}
	}
	return row[len(b)]
}

// clip shortens what is quoted.
func clip(s string) string {
	const most = 60
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}

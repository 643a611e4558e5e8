package hookfile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Problem is a mistake in a file, with advice on how to correct it. The message quotes a value only
// if its key accepts a fixed list of words.
type Problem struct {
	File    string `json:"file"`
	Line    int    `json:"line"`   // from 1
	Column  int    `json:"column"` // from 1, in characters
	Message string `json:"message"`
}

// String returns the problem in the form file:line:column: message.
func (p Problem) String() string {
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
}

// InvalidError contains all problems of a file, ordered by position. There is at least one.
type InvalidError struct{ Problems []Problem }

// Error returns the problems, each on a separate line.
func (e *InvalidError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

func sorted(problems []Problem) []Problem {
	slices.SortStableFunc(problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return problems
}

func oneOf(got string, words []string) string {
	if near := nearest(got, words); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return "there are " + strings.Join(words, ", ")
}

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

func clip(s string) string {
	const most = 60
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}

package rules

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxNormal bounds the runes of a normalised error, maxRaw those that are read.
const (
	maxNormal = 300
	maxRaw    = 4000
)

// varying are the parts of an error that differ from one occurrence to the next,
// in the order in which "#" takes their place. Each of them has a digit: when all
// are replaced, nothing is left to replace.
var varying = []*regexp.Regexp{
	regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`),
	regexp.MustCompile(`\d{4}-\d\d-\d\d([t ]\d\d:\d\d(:\d\d([.,]\d+)?)?(z|[+-]\d\d:?\d\d)?)?`),
	regexp.MustCompile(`\b\d\d:\d\d(:\d\d([.,]\d+)?)?\b`),
	regexp.MustCompile(`\b\d+([.,]\d+)? ?(ns|µs|us|ms|s|m|h|d|secs?|seconds?|mins?|minutes?|hours?|days?)\b`),
	regexp.MustCompile("\"[^\"\\s]*\\d[^\"\\s]*\"|'[^'\\s]*\\d[^'\\s]*'|`[^`\\s]*\\d[^`\\s]*`"),
}

// word is what may be an id: letters, digits and underscores.
var word = regexp.MustCompile(`[0-9a-z_]*\d[0-9a-z_]*`)

var (
	hexWord = regexp.MustCompile(`^(0x[0-9a-f]+|[0-9a-f]{6,})$`)
	mixed   = regexp.MustCompile(`\d[a-z_]+\d+[a-z_]+\d`)
	numbers = regexp.MustCompile(`\d+([.,:]\d+)*`)
)

// Normalise returns what two reports of one error have in common: the text in
// lower case, on one line, with "#" for ids, times and numbers, and at most 300
// characters of it. What is normalised already stays as it is.
func Normalise(text string) string {
	s := strings.ToLower(clean(text, maxRaw))
	for _, v := range varying {
		s = v.ReplaceAllString(s, "#")
	}
	s = word.ReplaceAllStringFunc(s, func(w string) string {
		if hexWord.MatchString(w) || len(w) >= 12 && mixed.MatchString(w) {
			return "#"
		}
		return w
	})
	s = numbers.ReplaceAllString(s, "#")
	return cut(strings.Join(strings.Fields(s), " "), maxNormal)
}

// cut returns the first limit runes of s, without spaces at their end.
func cut(s string, limit int) string {
	if utf8.RuneCountInString(s) > limit {
		s = string([]rune(s)[:limit])
	}
	return strings.TrimRightFunc(s, unicode.IsSpace)
}

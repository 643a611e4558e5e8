package fingerprint

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/hooktrail/hooktrail/internal/tracking/deferred"
)

const (
	maxNormal = 300  // maximum length of the result
	maxRaw    = 4000 // maximum length of the input
)

// variable matches the parts of an error that differ between occurrences. The replacement must not
// match again.
var variable = []*regexp.Regexp{
	regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`),
	regexp.MustCompile(`\d{4}-\d\d-\d\d([t ]\d\d:\d\d(:\d\d([.,]\d+)?)?(z|[+-]\d\d:?\d\d)?)?`),
	regexp.MustCompile(`\b\d\d:\d\d(:\d\d([.,]\d+)?)?\b`),
	regexp.MustCompile(`\b\d+([.,]\d+)? ?(ns|µs|us|ms|s|m|h|d|secs?|seconds?|mins?|minutes?|hours?|days?)\b`),
	regexp.MustCompile("\"[^\"\\s]*\\d[^\"\\s]*\"|'[^'\\s]*\\d[^'\\s]*'|`[^`\\s]*\\d[^`\\s]*`"),
}

var word = regexp.MustCompile(`[0-9a-z_]*\d[0-9a-z_]*`)

var (
	hexWord = regexp.MustCompile(`^(0x[0-9a-f]+|[0-9a-f]{6,})$`)
	mixed   = regexp.MustCompile(`\d[a-z_]+\d+[a-z_]+\d`)
	numbers = regexp.MustCompile(`\d+([.,:]\d+)*`)
)

// Normalise returns the same form for all reports of an error, one line of at most 300 characters.
// Normalising it again changes nothing.
func Normalise(text string) string {
	s := strings.ToLower(deferred.Clean(text, maxRaw))
	for _, v := range variable {
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

func cut(s string, limit int) string {
	if utf8.RuneCountInString(s) > limit {
		s = string([]rune(s)[:limit])
	}
	return strings.TrimRightFunc(s, unicode.IsSpace)
}

package redact

import (
	"regexp"
	"strings"
)

type subject struct {
	text string
	path string // name of the file that contains this text, if known

	keywords bool  // find saw a keyword of a rule in the text
	view     *view // nil if nothing was decoded

	newlines *int // position of the last newline, nil if not computed yet
	latest   lineMatch
}

type finding struct {
	rule       string
	start, end int
	secret     bool
}

// Expressions that ignore case match longS as s, kelvin as k and dottedI as i.
const (
	longS   = '\u017F'
	kelvin  = '\u212A'
	dottedI = '\u0130'
)

func hasFoldedLetter(text string) bool {
	return strings.ContainsRune(text, longS) || strings.ContainsRune(text, kelvin) || strings.ContainsRune(text, dottedI)
}

const maxLine = 8 << 10

// As in gitleaks, the range of a match in the last line includes all text before that line.
func (s *subject) line(start, end int) (from, to int) {
	if s.newlines == nil {
		last := strings.LastIndexByte(s.text, '\n')
		s.newlines = &last
	}
	low, high := max(start-maxLine, 0), min(end+maxLine, len(s.text))
	from, to = 0, len(s.text)
	switch last := *s.newlines; {
	case last < 0:
	case start >= last:
		if n := strings.IndexAny(s.text[end:high], "\r\n"); n >= 0 {
			to = end + n
		}
	default:
		if n := strings.LastIndexByte(s.text[low:start+1], '\n'); n >= 0 {
			from = low + n
		}
		if n := strings.IndexByte(s.text[end:high], '\n'); n >= 0 {
			to = end + n
		} else if high == len(s.text) {
			to = end
		}
	}
	if from < low || to > high {
		from, to = max(start/maxLine-1, 0)*maxLine, min((end/maxLine+2)*maxLine, len(s.text))
	}
	return from, to
}

func (s *subject) inLine(pattern *regexp.Regexp, start, end int) bool {
	now := lineMatch{pattern: pattern}
	if now.from, now.to = s.line(start, end); now.from == now.to {
		return false
	}
	if s.latest.pattern != pattern || s.latest.from != now.from || s.latest.to != now.to {
		now.matches = pattern.MatchString(s.text[now.from:now.to])
		s.latest = now
	}
	return s.latest.matches
}

type lineMatch struct {
	pattern  *regexp.Regexp
	from, to int
	matches  bool
}

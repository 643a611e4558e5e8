package redact

import (
	"regexp"
	"strings"
	"sync"
)

// What the expressions of an allow-list are held against.
const (
	targetSecret = "secret" // also when empty
	targetMatch  = "match"
	targetLine   = "line"
)

// allowlist says which findings are none.
type allowlist struct {
	all       bool // all that it asks for must hold, not just one of it
	target    string
	regexes   []string
	stopwords []string
	elsewhere bool // it asks for paths or commits too, which events do not have

	once    sync.Once // guards the making of what is below
	pattern *regexp.Regexp
	words   *automaton
}

// allows tells whether a finding is none. The function says whether an expression
// matches in the line that it is in.
func (a *allowlist) allows(secret, match string, inLine func(*regexp.Regexp) bool) bool {
	if a.all && a.elsewhere {
		return false
	}
	a.once.Do(a.compile)
	if a.all {
		return (a.pattern == nil || a.lists(secret, match, inLine)) && (a.words == nil || a.stops(secret))
	}
	return a.stops(secret) || a.lists(secret, match, inLine)
}

// lists tells whether the expressions match what they are held against.
func (a *allowlist) lists(secret, match string, inLine func(*regexp.Regexp) bool) bool {
	switch {
	case a.pattern == nil:
		return false
	case a.target == targetLine:
		return inLine(a.pattern)
	case a.target == targetMatch:
		return match != "" && a.pattern.MatchString(match)
	default:
		return secret != "" && a.pattern.MatchString(secret)
	}
}

// stops tells whether secret has a stop word.
func (a *allowlist) stops(secret string) bool {
	return a.words != nil && a.words.contains(strings.ToLower(secret))
}

func (a *allowlist) compile() {
	if len(a.regexes) > 0 {
		// One expression, as in the library: a flag that one of them sets holds for
		// those behind it. What does not compile allows nothing.
		a.pattern = compile("(?:"+strings.Join(a.regexes, "|")+")", nothing)
	}
	if len(a.stopwords) > 0 {
		a.words = newAutomaton(a.stopwords)
	}
}

// What stands in for an expression that cannot be compiled, so that more is
// redacted and not less. A test holds that the shipped rules need neither.
var (
	nothing    = regexp.MustCompile(`[^\x00-\x{10FFFF}]`)
	everything = regexp.MustCompile(`(?s).+`)
)

func compile(expression string, instead *regexp.Regexp) *regexp.Regexp {
	if re, err := regexp.Compile(expression); err == nil {
		return re
	}
	return instead
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

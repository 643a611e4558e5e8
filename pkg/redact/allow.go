package redact

import (
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

const (
	targetSecret = "secret" // also the empty target
	targetMatch  = "match"
	targetLine   = "line"
)

type allowlist struct {
	all       bool // all conditions must hold, or one if false
	target    string
	regexes   []string
	stopwords []string
	elsewhere bool // has conditions on paths or commits, which are never met

	once    sync.Once // guards pattern and words
	pattern *regexp.Regexp
	words   *automaton
}

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

func (a *allowlist) stops(secret string) bool {
	return a.words != nil && a.words.contains(strings.ToLower(secret))
}

func (a *allowlist) compile() {
	if len(a.regexes) > 0 {
		// Join the expressions as gitleaks does. A flag in one then applies to the later ones.
		a.pattern = compile("(?:"+strings.Join(a.regexes, "|")+")", nothing)
	}
	if len(a.stopwords) > 0 {
		a.words = newAutomaton(a.stopwords)
	}
}

// nothing and everything replace invalid expressions, so that Redactor never redacts less because
// of an invalid expression.
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
	return !strings.ContainsFunc(s, func(r rune) bool { return r >= utf8.RuneSelf })
}

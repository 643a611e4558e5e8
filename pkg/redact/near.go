package redact

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// near looks for the matches of an expression next to keywords only. It exists
// for expressions of the form L E T where L can be empty and whatever E matches
// begins with a keyword: then every match has a keyword where E begins.
type near struct {
	// test matches at the start of a text if E T does, and sometimes if it does
	// not: repetitions that have no bound are followed for some characters only.
	test  *regexp.Regexp
	reach int   // how much text test may look at
	gate  *gate // nil: none
	word  bool  // no letter, digit or underscore precedes the keyword
	// lead is how many bytes L may take. It is negative where the place of a match
	// depends on what precedes it: test then only says that there may be one.
	lead int
}

const (
	maxPrefixes = 64   // strings with which E may begin
	maxTest     = 8192 // bytes of the expression of a test
	slack       = 64   // characters of an unbounded repetition that a test follows
	margin      = 2 * utf8.UTFMax
)

// newNear returns nil if the matches of expression need not be near a keyword.
func newNear(expression string, keywords []string) *near {
	tree, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nil
	}
	items := flatten(tree, nil)
	n := &near{}
	for len(items) > 0 && isNullable(items[0]) {
		width := maxWidth(items[0])
		if width < 0 || looksBack(items[0]) {
			n.lead = -1
		}
		if n.lead >= 0 {
			n.lead += width
		}
		n.word = items[0].Op == syntax.OpWordBoundary
		items = items[1:]
	}
	heads, count := beginWith(items, keywords)
	if heads == nil {
		return nil
	}
	n.word = n.word && !slices.ContainsFunc(heads, func(head string) bool { return !isWord(head[0]) })
	n.gate = newGate(items, count, heads)
	bounded := concat()
	for _, item := range slices.Backward(items) {
		bounded = bound(item, bounded)
	}
	text := bounded.String()
	if len(text) > maxTest {
		return nil
	}
	if n.test, err = regexp.Compile(`\A(?:` + text + `)`); err != nil {
		return nil
	}
	n.reach = maxWidth(bounded) + margin
	return n
}

// find returns what pattern.FindAllStringIndex(text, -1) would. The keywords of
// the rule begin at the places in at, which ascend.
func (n *near) find(pattern *regexp.Regexp, text string, at []int32) [][]int {
	var found [][]int
	from := 0 // the end of the last match
	for _, place := range at {
		p := int(place)
		if p < from || !n.hopeful(text, p) {
			continue
		}
		if n.lead < 0 {
			return pattern.FindAllStringIndex(text, -1)
		}
		// All matches that are left have their keyword here or behind, and nothing
		// in front of start can be part of one.
		start := max(from, p-n.lead)
		for back := 0; start > from && back < utf8.UTFMax-1 && !utf8.RuneStart(text[start]); back++ {
			start--
		}
		m := pattern.FindStringIndex(text[start:])
		if m == nil {
			return found
		}
		from = start + m[1]
		found = append(found, []int{start + m[0], from})
	}
	return found
}

// hopeful tells whether there can be a match whose keyword begins at p.
func (n *near) hopeful(text string, p int) bool {
	if n.word && p > 0 && isWord(text[p-1]) || n.gate != nil && !n.gate.open(text, p) {
		return false
	}
	return n.test.MatchString(text[p:min(p+n.reach, len(text))])
}

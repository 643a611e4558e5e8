package redact

import (
	"cmp"
	"regexp"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// near looks for the matches of an expression next to keywords only. It exists
// for expressions whose every alternative has the form L E T, where whatever E
// matches begins with a keyword: then every match has a keyword where an E begins.
type near struct {
	ways []*way
	// lead is how many bytes an L may take. It is negative where the place of a
	// match depends on what precedes it: a test then only says that there may be
	// one.
	lead int
}

// way is one alternative of an expression.
type way struct {
	// test matches at the start of a text if E T does, and sometimes if it does
	// not: repetitions that have no bound are followed for some characters only.
	test  *regexp.Regexp
	reach int   // how much text test may look at
	gate  *gate // nil: none
	word  bool  // no letter, digit or underscore precedes the keyword
	lead  int   // of the near, as far as this alternative goes
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
	alternatives := []*syntax.Regexp{tree}
	if tree.Op == syntax.OpAlternate {
		alternatives = tree.Sub
	}
	n := &near{}
	for _, re := range alternatives {
		w := newWay(flatten(re, nil), keywords)
		if w == nil {
			return nil
		}
		n.ways = append(n.ways, w)
	}
	n.lead = slices.MaxFunc(n.ways, func(a, b *way) int { return cmp.Compare(a.lead, b.lead) }).lead
	if slices.ContainsFunc(n.ways, func(w *way) bool { return w.lead < 0 }) {
		n.lead = -1
	}
	return n
}

// newWay returns nil if what items match one after the other need not be near a
// keyword.
func newWay(items []*syntax.Regexp, keywords []string) *way {
	w := &way{}
	for ; len(items) > 0; items = items[1:] {
		if !isNullable(items[0]) {
			if heads, count := beginWith(items, keywords); heads != nil {
				return w.behind(items, count, heads)
			}
		}
		width := maxWidth(items[0])
		if width < 0 || looksBack(items[0]) {
			w.lead = -1
		}
		if w.lead >= 0 {
			w.lead += width
		}
		w.word = items[0].Op == syntax.OpWordBoundary
	}
	return nil
}

// behind makes the test of what goes on with items, the first count of which
// begin with one of heads.
func (w *way) behind(items []*syntax.Regexp, count int, heads []string) *way {
	w.word = w.word && !slices.ContainsFunc(heads, func(head string) bool { return !isWord(head[0]) })
	w.gate = newGate(items, count, heads)
	bounded := concat()
	for _, item := range slices.Backward(items) {
		bounded = bound(item, bounded)
	}
	text := bounded.String()
	if len(text) > maxTest {
		return nil
	}
	var err error
	if w.test, err = regexp.Compile(`\A(?:` + text + `)`); err != nil {
		return nil
	}
	w.reach = maxWidth(bounded) + margin
	return w
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
	return slices.ContainsFunc(n.ways, func(w *way) bool { return w.hopeful(text, p) })
}

func (w *way) hopeful(text string, p int) bool {
	if w.word && p > 0 && isWord(text[p-1]) || w.gate != nil && !w.gate.open(text, p) {
		return false
	}
	return w.test.MatchString(text[p:min(p+w.reach, len(text))])
}

package redact

import (
	"cmp"
	"regexp"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// near searches for an expression only around keywords. Each alternative of the expression is a
// lead L, a part E that begins with a keyword, and a tail T.
type near struct {
	ways []*way
	// lead is the maximum length of L in bytes. It is negative if L has no maximum length, and
	// then the whole text is searched.
	lead int
}

type way struct {
	// test matches every text that begins with E followed by T. It may match other texts too.
	test  *regexp.Regexp
	reach int   // bytes that test needs, from the start of the keyword
	gate  *gate // checked before test, can be nil
	word  bool  // the keyword must not follow a letter, digit or underscore
	lead  int   // maximum length of L in bytes, or negative as in near
}

const (
	maxPrefixes = 64   // texts that E can match
	maxTest     = 8192 // bytes of the expression of a test
	slack       = 64   // extra characters for an unlimited repetition in a test
	margin      = 2 * utf8.UTFMax
)

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

// find must return the same as pattern.FindAllStringIndex(text, -1).
func (n *near) find(pattern *regexp.Regexp, text string, positions []int32) [][]int {
	var found [][]int
	from := 0 // end of the last match
	for _, position := range positions {
		p := int(position)
		if p < from || !n.hopeful(text, p) {
			continue
		}
		if n.lead < 0 {
			return pattern.FindAllStringIndex(text, -1)
		}
		// The keyword of the next match is at p or later, so that match begins at p-n.lead or
		// later.
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

func (n *near) hopeful(text string, p int) bool {
	return slices.ContainsFunc(n.ways, func(w *way) bool { return w.hopeful(text, p) })
}

func (w *way) hopeful(text string, p int) bool {
	if w.word && p > 0 && isWord(text[p-1]) || w.gate != nil && !w.gate.open(text, p) {
		return false
	}
	return w.test.MatchString(text[p:min(p+w.reach, len(text))])
}

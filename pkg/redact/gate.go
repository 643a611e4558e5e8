package redact

import (
	"regexp/syntax"
	"unicode"
	"unicode/utf8"
)

// gate is a quick look behind a keyword. Between what begins with the keyword and
// the first character that an expression insists on there is only what can be
// skipped: an expression that wants "key", some words and a colon is not tried
// where a bracket comes first.
type gate struct {
	of    [256]uint8
	from  int // behind the start of the keyword: where to look
	reach int // how many bytes there may be in front of what is insisted on
}

// What a byte may be part of.
const (
	skipped uint8 = 1 << iota
	insisted
)

// newGate returns a gate for expressions that begin with one of heads, the first
// count of items, and go on with the rest of items.
func newGate(items []*syntax.Regexp, count int, heads []string) *gate {
	g := &gate{from: len(heads[0])}
	for _, head := range heads {
		g.from = min(g.from, len(head))
	}
	for i, item := range items {
		if i >= count && !isNullable(item) {
			g.first(item)
			return g
		}
		width := maxWidth(item)
		if width < 0 || i >= count && looksBack(item) {
			return nil
		}
		g.reach += width
		g.add(item, skipped)
	}
	return nil
}

// open tells whether the expression can match where a keyword begins at p.
func (g *gate) open(text string, p int) bool {
	for i := p + g.from; i <= p+g.reach; i++ {
		if i >= len(text) {
			return true // to insist on the end of the text is possible, too
		}
		switch f := g.of[text[i]]; {
		case f&insisted != 0:
			return true
		case f == 0:
			return false
		}
	}
	return false
}

// first marks the bytes with which re can begin.
func (g *gate) first(re *syntax.Regexp) {
	switch re.Op {
	case syntax.OpLiteral:
		g.rune(re.Rune[0], re.Flags, insisted)
	case syntax.OpAlternate:
		for _, sub := range re.Sub {
			g.first(sub)
		}
	case syntax.OpConcat:
		for _, sub := range re.Sub {
			if g.first(sub); !isNullable(sub) {
				return
			}
		}
	case syntax.OpCapture, syntax.OpPlus, syntax.OpStar, syntax.OpQuest, syntax.OpRepeat:
		g.first(re.Sub[0])
	default:
		g.add(re, insisted)
	}
}

// add marks the bytes that are in what re matches.
func (g *gate) add(re *syntax.Regexp, as uint8) {
	switch re.Op {
	case syntax.OpLiteral:
		for _, r := range re.Rune {
			g.rune(r, re.Flags, as)
		}
	case syntax.OpCharClass:
		for i := 0; i < len(re.Rune); i += 2 {
			for r := re.Rune[i]; r <= re.Rune[i+1]; r++ {
				if g.rune(r, 0, as); r >= utf8.RuneSelf {
					break // all of them are marked
				}
			}
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL, syntax.OpEndLine, syntax.OpEndText, syntax.OpBeginLine, syntax.OpBeginText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		for c := range g.of {
			g.of[c] |= as
		}
	default:
		for _, sub := range re.Sub {
			g.add(sub, as)
		}
	}
}

// rune marks the bytes of r, and of its other cases where flags say that case
// does not count.
func (g *gate) rune(r rune, flags syntax.Flags, as uint8) {
	for other := r; ; {
		if other < utf8.RuneSelf {
			g.of[other] |= as
		} else {
			for c := utf8.RuneSelf; c < len(g.of); c++ {
				g.of[c] |= as
			}
		}
		if other = unicode.SimpleFold(other); other == r || flags&syntax.FoldCase == 0 {
			return
		}
	}
}

package redact

import (
	"regexp/syntax"
	"unicode"
	"unicode/utf8"
)

// gate checks before a match whether a character that the expression requires comes soon after the
// keyword.
type gate struct {
	of    [256]uint8
	from  int // start of the check, relative to the keyword
	reach int // maximum distance to the required character
}

const (
	skipped uint8 = 1 << iota
	insisted
)

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

func (g *gate) open(text string, p int) bool {
	for i := p + g.from; i <= p+g.reach; i++ {
		if i >= len(text) {
			return true // the expression may require the end of the text
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
					break // rune has already marked all other bytes of this range
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

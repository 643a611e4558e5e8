package redact

import (
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

func flatten(re *syntax.Regexp, items []*syntax.Regexp) []*syntax.Regexp {
	switch re.Op {
	case syntax.OpConcat, syntax.OpCapture:
		for _, sub := range re.Sub {
			items = flatten(sub, items)
		}
		return items
	case syntax.OpEmptyMatch:
		return items
	default:
		return append(items, re)
	}
}

func concat(list ...*syntax.Regexp) *syntax.Regexp {
	var items []*syntax.Regexp
	for _, re := range list {
		items = flatten(re, items)
	}
	if len(items) == 0 {
		return &syntax.Regexp{Op: syntax.OpEmptyMatch}
	}
	return &syntax.Regexp{Op: syntax.OpConcat, Sub: items}
}

func isNullable(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpStar, syntax.OpQuest, syntax.OpEmptyMatch, syntax.OpBeginLine, syntax.OpBeginText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return true
	case syntax.OpRepeat:
		return re.Min == 0
	case syntax.OpCapture, syntax.OpConcat:
		return !slices.ContainsFunc(re.Sub, func(sub *syntax.Regexp) bool { return !isNullable(sub) })
	case syntax.OpAlternate:
		return slices.ContainsFunc(re.Sub, isNullable)
	default:
		return false
	}
}

func looksBack(re *syntax.Regexp) bool {
	switch re.Op {
	case syntax.OpBeginLine, syntax.OpBeginText, syntax.OpWordBoundary, syntax.OpNoWordBoundary:
		return true
	default:
		return slices.ContainsFunc(re.Sub, looksBack)
	}
}

func maxWidth(re *syntax.Regexp) int {
	switch re.Op {
	case syntax.OpLiteral:
		return utf8.UTFMax * len(re.Rune)
	case syntax.OpCharClass:
		if len(re.Rune) > 0 && re.Rune[len(re.Rune)-1] < utf8.RuneSelf {
			return 1
		}
		return utf8.UTFMax
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return utf8.UTFMax
	case syntax.OpStar, syntax.OpPlus:
		return -1
	case syntax.OpRepeat:
		if re.Max < 0 {
			return -1
		}
	}
	return maxWidthOf(re)
}

func maxWidthOf(re *syntax.Regexp) int {
	sum, widest := 0, 0
	for _, sub := range re.Sub {
		width := maxWidth(sub)
		if width < 0 {
			return -1
		}
		sum, widest = sum+width, max(widest, width)
	}
	switch re.Op {
	case syntax.OpAlternate:
		return widest
	case syntax.OpRepeat:
		return sum * re.Max
	default:
		return sum
	}
}

// bound may match in more places than re followed by rest, but never in fewer.
func bound(re, rest *syntax.Regexp) *syntax.Regexp {
	if maxWidth(re) >= 0 {
		return concat(re, rest)
	}
	switch re.Op {
	case syntax.OpCapture:
		return bound(re.Sub[0], rest)
	case syntax.OpConcat:
		for _, sub := range slices.Backward(re.Sub) {
			rest = bound(sub, rest)
		}
		return rest
	case syntax.OpAlternate:
		either := &syntax.Regexp{Op: syntax.OpAlternate}
		for _, sub := range re.Sub {
			either.Sub = append(either.Sub, bound(sub, rest))
		}
		return either
	case syntax.OpStar, syntax.OpPlus, syntax.OpRepeat:
		if maxWidth(re.Sub[0]) < 0 {
			return concat()
		}
		least := map[syntax.Op]int{syntax.OpPlus: 1, syntax.OpRepeat: re.Min}[re.Op]
		times := func(from, to int) *syntax.Regexp {
			return &syntax.Regexp{Op: syntax.OpRepeat, Sub: re.Sub, Min: from, Max: to, Flags: re.Flags}
		}
		return &syntax.Regexp{Op: syntax.OpAlternate, Sub: []*syntax.Regexp{
			concat(times(least, least+slack), rest), times(least+slack+1, least+slack+1),
		}}
	default:
		return concat()
	}
}

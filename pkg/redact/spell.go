package redact

import (
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"
)

func beginWith(items []*syntax.Regexp, keywords []string) (heads []string, count int) {
	heads = []string{""}
	for i, item := range items {
		list, ok := spell(item)
		if !ok && i == 0 && item.Op == syntax.OpAlternate {
			return beginEither(item.Sub, keywords)
		}
		if heads = cross(heads, list); !ok || len(heads) > maxPrefixes {
			return nil, 0
		}
		if !slices.ContainsFunc(heads, func(head string) bool {
			return !slices.ContainsFunc(keywords, func(k string) bool { return strings.HasPrefix(head, k) })
		}) {
			return heads, i + 1
		}
	}
	return nil, 0
}

func beginEither(branches []*syntax.Regexp, keywords []string) (heads []string, count int) {
	for _, branch := range branches {
		more, _ := beginWith(flatten(branch, nil), keywords)
		if more == nil {
			return nil, 0
		}
		heads = append(heads, more...)
	}
	return heads, 1
}

func cross(heads, tails []string) []string {
	list := make([]string, 0, len(heads)*len(tails))
	for _, head := range heads {
		for _, tail := range tails {
			list = append(list, head+tail)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func spell(re *syntax.Regexp) ([]string, bool) {
	switch re.Op {
	case syntax.OpEmptyMatch:
		return []string{""}, true
	case syntax.OpLiteral:
		text := strings.ToLower(string(re.Rune))
		return []string{text}, isASCII(text)
	case syntax.OpCharClass:
		return spellClass(re.Rune)
	case syntax.OpQuest, syntax.OpCapture:
		list, ok := spell(re.Sub[0])
		if re.Op == syntax.OpQuest {
			list = append(list, "")
		}
		return list, ok
	case syntax.OpConcat:
		return spellAll(re.Sub, []string{""}, cross)
	case syntax.OpAlternate:
		return spellAll(re.Sub, nil, func(list, more []string) []string { return append(list, more...) })
	default:
		return nil, false
	}
}

func spellAll(subs []*syntax.Regexp, list []string, join func(list, more []string) []string) ([]string, bool) {
	for _, sub := range subs {
		more, ok := spell(sub)
		if list = join(list, more); !ok || len(list) > maxPrefixes {
			return nil, false
		}
	}
	return list, true
}

func spellClass(ranges []rune) ([]string, bool) {
	var list []string
	for i := 0; i < len(ranges); i += 2 {
		if ranges[i+1]-ranges[i] > maxPrefixes {
			return nil, false
		}
		for r := ranges[i]; r <= ranges[i+1]; r++ {
			switch {
			case r == longS || r == kelvin:
			case r >= utf8.RuneSelf:
				return nil, false
			default:
				list = append(list, strings.ToLower(string(r)))
			}
		}
	}
	slices.Sort(list)
	list = slices.Compact(list)
	return list, len(list) > 0 && len(list) <= maxPrefixes
}

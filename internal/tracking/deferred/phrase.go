package deferred

import (
	"slices"
	"strings"
)

// A phrase is a pattern that matches a sequence of words. It consists of these elements:
//
//	is|are   one of these words
//	<work>   a word of the set with this name
//	<any>    any word
//	<num>    a number
//	…        up to eight words of any kind
//	^        no word, marks the beginning of the item
//	$        no word, matches only at the end of the text
//
// A "?" makes an element for one word optional.
type phrase []element

type element struct {
	kind     kind
	words    map[string]bool
	optional bool
}

type kind int

const (
	oneOf kind = iota
	anyWord
	number
	anyWords
	mark
	end
)

const maxGap = 8

type span struct{ start, end, from, to int }

func phrases(lines string) []phrase {
	var out []phrase
	for line := range strings.Lines(lines) {
		var p phrase
		for field := range strings.FieldsSeq(line) {
			p = append(p, parseElement(field))
		}
		if len(p) > 0 {
			out = append(out, p)
		}
	}
	return out
}

func parseElement(field string) element {
	var e element
	field, e.optional = strings.CutSuffix(field, "?")
	switch {
	case field == "…":
		e.kind = anyWords
	case field == "^":
		e.kind = mark
	case field == "$":
		e.kind = end
	case field == "<num>":
		e.kind = number
	case field == "<any>":
		e.kind = anyWord
	case strings.HasPrefix(field, "<"):
		e.words = sets[strings.Trim(field, "<>")]
	default:
		e.words = set(strings.ReplaceAll(field, "|", " "))
	}
	return e
}

func set(list string) map[string]bool {
	words := make(map[string]bool)
	for w := range strings.FieldsSeq(list) {
		words[w] = true
	}
	return words
}

func (e element) is(w word) bool {
	return e.kind == anyWord || e.kind == number && isNumber(w) || e.kind == oneOf && e.words[w.text]
}

func isNumber(w word) bool {
	return sets["number"][w.text] || w.text[0] >= '0' && w.text[0] <= '9'
}

func (p phrase) match(words []word, at int) (s span, ok bool) {
	if len(p) == 0 {
		return span{at, at, -1, -1}, true
	}
	e, rest := p[0], p[1:]
	switch e.kind {
	case end:
		return span{at, at, -1, -1}, at == len(words)
	case mark:
		s, ok = rest.match(words, at)
		return span{at, s.end, at, len(words)}, ok
	case anyWords:
		return rest.matchLater(words, at)
	case oneOf, anyWord, number:
	}
	if at < len(words) && e.is(words[at]) {
		if s, ok = rest.match(words, at+1); ok {
			return span{at, s.end, s.from, s.to}, true
		}
	}
	if e.optional {
		return rest.match(words, at)
	}
	return span{}, false
}

func (p phrase) matchLater(words []word, at int) (s span, ok bool) {
	for n := 0; n <= maxGap && at+n <= len(words); n++ {
		if s, ok = p.match(words, at+n); ok {
			return span{at, s.end, at, at + n}, true
		}
	}
	return span{}, false
}

func found(ps []phrase, words []word) bool {
	for i := range words {
		if begins(ps, words[i:]) {
			return true
		}
	}
	return false
}

func begins(ps []phrase, words []word) bool {
	return slices.ContainsFunc(ps, func(p phrase) bool {
		_, ok := p.match(words, 0)
		return ok
	})
}

func are(ps []phrase, words []word) bool {
	return slices.ContainsFunc(ps, func(p phrase) bool {
		if !p.mayBegin(words) {
			return false
		}
		_, ok := append(slices.Clip(p), element{kind: end}).match(words, 0)
		return ok
	})
}

func (p phrase) mayBegin(words []word) bool {
	if e := p[0]; e.kind == oneOf && !e.optional {
		return len(words) > 0 && e.is(words[0])
	}
	return true
}

package deferred

import (
	"slices"
	"strings"
)

// Covers reports whether the finished work includes the given item of deferred work. It requires
// all content words of the item, and that the given percentage of the words of both is the same.
// Both texts are results of [Key].
func Covers(done, item string, percent int) bool {
	a, b := contentOf(done), contentOf(item)
	if len(b) == 0 {
		return false
	}
	for _, w := range b {
		if !slices.Contains(a, w) {
			return false
		}
	}
	return 100*len(b) >= percent*len(a)
}

func contentOf(key string) []string {
	var words []string
	for w := range strings.FieldsSeq(key) {
		if fillers[w] {
			continue
		}
		if s := root(w); !slices.Contains(words, s) {
			words = append(words, s)
		}
	}
	return words
}

// root removes all endings, because stem leaves "compres" of "compress" but "compress" of
// "compressed".
func root(w string) string {
	for {
		s := stem(w)
		if s == w {
			return s
		}
		w = s
	}
}

var fillers = set(`the an to of for in on at by with from into is are was were be been being has have had and now also
	our my your its it this that as so then all again still successfully finally properly fully completely it's`)

// Claims returns the clauses of a summary that report finished work without a label, such as "Added
// unit tests for the parser". Most of them are not about a work item.
func Claims(summary string) []string {
	var items []string
	for _, l := range linesOf(summary) {
		for _, s := range sentences(fragment{l.text, l.mask}) {
			words := wordsOf(s.mask)
			if isQuestion(s) || slices.ContainsFunc(words, func(w word) bool { return denials[w.text] || breakers[w.text] }) {
				continue
			}
			for _, c := range clauses(s, words) {
				if from := leading(words, c); from < c.to && isPast(words[from].text) {
					items = appendItem(items, textOf(s, words, from, c.to))
				}
			}
		}
	}
	return items
}

func isPast(verb string) bool { return sets["worked"][verb] || strings.HasSuffix(verb, "ed") }

func leading(words []word, c clause) int {
	from := c.from
	for from < c.to && (sets["speaker"][words[from].text] || conjunctions[words[from].text] || words[from].text == "and" || words[from].text == "have") {
		from++
	}
	return from
}

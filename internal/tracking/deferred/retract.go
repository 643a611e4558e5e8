package deferred

import (
	"slices"
	"strings"
)

func (c cue) retracted(words []word, s span) bool {
	before := words[:s.start]
	if c.denied(before) || c.counted && slices.ContainsFunc(before, isNumber) {
		return true
	}
	if !c.first && slices.ContainsFunc(before[lastAnd(before):], func(w word) bool { return sets["gone"][w.text] && !w.glued }) {
		return true
	}
	if c.isName(words[s.end:]) || isScope(words[s.start:]) || isStatus(words, s) {
		return true
	}
	after := words[s.end-1:] // a verb can be the last word of the cue
	return found(finished, after[:untilReason(after)])
}

// settled reports whether the sentence explains the omission in a clause. Either a person asked for
// it, or it is over.
func settled(clause, after []word) bool { return found(ordered, after) || found(over, clause) }

var over = phrases("before|earlier|previously|formerly … now|again")

var ordered = phrases(`
	as|like|because|since you|user|they had|have? asked|requested|wanted|instructed|told|said|specified|preferred|suggested|wished
	as requested|instructed|agreed|asked|told|specified|directed|ordered|desired|you
	at|on|per|by your|user request|instruction|instructions|wish`)

func (c cue) isName(words []word) bool {
	return c.plain && !isObject(words) || c.predicate && !isPredicate(words)
}

// isScope recognises clauses such as "did not add any dependency", which report finished work. In
// contrast, "did not add any tests" reports unfinished work.
func isScope(words []word) bool {
	i := slices.IndexFunc(words, func(w word) bool { return w.text == "any" })
	return i > 0 && i <= 4 && sets["work"][words[i-1].text] && !slices.ContainsFunc(words[i:], func(w word) bool { return expected[w.text] })
}

func (c cue) denied(words []word) bool {
	for i, w := range words {
		switch {
		case !denials[w.text], i+1 < len(words) && words[i+1].text == "only":
		case w.text == "without" && c.take == subject && i > 0 && i+1 < len(words):
		default:
			return true
		}
	}
	return false
}

func isObject(words []word) bool {
	return (len(words) == 0 || !prepositions[words[0].text]) &&
		!slices.ContainsFunc(words[:untilReason(words)], func(w word) bool { return adjective[w.text] })
}

// isPredicate reports whether the phrase before the given words is the predicate of a sentence. In
// "follow up on leads is a screen", the phrase is part of a name instead.
func isPredicate(words []word) bool {
	if n := len(words); n > 0 && sets["gone"][words[n-1].text] {
		return false // "follow up with the customer button added"
	}
	for _, w := range words[:untilReason(words)] {
		if asking[w.text] {
			return true
		}
		if predicates[w.text] {
			return false
		}
	}
	return true
}

var (
	asking     = set("why how what which who that whether where")
	predicates = set("is are was were has have had can will does")
)

func done(words []word, next []clause) bool {
	return len(next) > 0 && next[0].from < next[0].to && strings.HasSuffix(words[next[0].from].text, "ed")
}

// isStatus recognises statuses such as "2 convoys remain open", which report no work. In contrast,
// "2 bugs remain open" reports unfinished work.
func isStatus(words []word, s span) bool {
	i := slices.IndexFunc(words[s.start:s.end], func(w word) bool { return w.text == "remain" || w.text == "remains" }) + s.start
	if i < s.start || i+1 >= len(words) || !states[words[i+1].text] {
		return false
	}
	before := words[:i]
	return slices.ContainsFunc(before, isNumber) &&
		!slices.ContainsFunc(before, func(w word) bool { return unsettled[w.text] })
}

var (
	states = set(`open active running healthy idle online up unchanged stable green alive available closed connected
		paused enabled disabled blocked queued asleep intact valid`)
	unsettled = set(`question questions issue issues item items task tasks point points todo todos finding findings
		comment comments thread threads bug bugs gap gaps conflict conflicts decision decisions error errors warning
		warnings failure failures problem problems concern concerns blocker blockers callers`)
)

func untilReason(words []word) int {
	if i := slices.IndexFunc(words, func(w word) bool { return until[w.text] }); i >= 0 {
		return i
	}
	return len(words)
}

func lastAnd(words []word) int {
	for i, w := range slices.Backward(words) {
		if w.text == "and" {
			return i + 1
		}
	}
	return 0
}

package deferred

import (
	"slices"
	"strings"
)

// takenBack reports whether the words around s deny it, say that it is done, or
// are no work.
func (c cue) takenBack(words []word, s span) bool {
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
	after := words[s.end-1:] // the verb may be the end of the cue
	return found(finished, after[:untilReason(after)])
}

// isName reports whether the cue and the words behind it only name something.
func (c cue) isName(words []word) bool {
	return c.plain && !isObject(words) || c.told && !isTold(words)
}

// isScope reports whether words only say how far the work went: "did not add any
// dependency". To add no test is another matter.
func isScope(words []word) bool {
	i := slices.IndexFunc(words, func(w word) bool { return w.text == "any" })
	return i > 0 && i <= 4 && sets["work"][words[i-1].text] && !slices.ContainsFunc(words[i:], func(w word) bool { return expected[w.text] })
}

// denied reports whether words deny the cue that follows them. What is put off may
// lack something: "the reports without a trace were left for later".
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

// isObject reports whether words can be what was put off: "deferred tax assets
// are computed" puts nothing off.
func isObject(words []word) bool {
	return (len(words) == 0 || !prepositions[words[0].text]) &&
		!slices.ContainsFunc(words[:untilReason(words)], func(w word) bool { return adjective[w.text] })
}

// isTold reports whether words have no predicate: "follow up on leads is a screen"
// is about a name.
func isTold(words []word) bool {
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

// done reports whether the first of next says what was done: "follow up on the
// review: renamed the flag".
func done(words []word, next []clause) bool {
	return len(next) > 0 && next[0].from < next[0].to && strings.HasSuffix(words[next[0].from].text, "ed")
}

// isStatus reports whether the "remain" of s says in which state a number of
// things are: "2 convoys remain open". Open questions are another matter.
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
	// unsettled is what is work as long as it is open.
	unsettled = set(`question questions issue issues item items task tasks point points todo todos finding findings
		comment comments thread threads bug bugs gap gaps conflict conflicts decision decisions error errors warning
		warnings failure failures problem problems concern concerns blocker blockers callers`)
)

// untilReason returns how many words there are before another matter begins.
func untilReason(words []word) int {
	if i := slices.IndexFunc(words, func(w word) bool { return until[w.text] }); i >= 0 {
		return i
	}
	return len(words)
}

// lastAnd returns where words go on behind the last "and": in "fixed a and
// deferred b", what was done is another thing.
func lastAnd(words []word) int {
	for i, w := range slices.Backward(words) {
		if w.text == "and" {
			return i + 1
		}
	}
	return 0
}

package deferral

import (
	"slices"
	"strings"
	"unicode"
)

// clause is words[from:to] of a sentence.
type clause struct {
	from, to int
	hard     bool // a semicolon or "but" stands before it: it says another thing
}

// starters begin a clause behind a comma; what else stands there goes on with a
// list.
var (
	starters = set(`but however so as because since which while whereas though although yet and then i we it this that these
		they nothing all no not left leaving`)
	breakers = set("but however whereas though although except while")
	coupled  = set("deferred skipped punted postponed left parked i we did")
	pronouns = set("it this that these those they which who what everything")
)

// clauses splits the words of s.
func clauses(s part, words []word) []clause {
	var out []clause
	cur := clause{}
	for i := 1; i < len(words); i++ {
		between := s.mask[words[i-1].end:max(words[i].start, words[i-1].end)]
		w := words[i].text
		hard := strings.Contains(between, ";") || strings.Contains(between, " — ") || strings.Contains(between, " – ") ||
			strings.Contains(between, " - ") || breakers[w]
		soft := strings.ContainsAny(between, ":") ||
			strings.Contains(between, ",") && (starters[w] || strings.HasSuffix(w, "ed") || coupled[w]) ||
			w == "and" && i+1 < len(words) && coupled[words[i+1].text]
		if !hard && !soft {
			continue
		}
		cur.to = i
		out = append(out, cur)
		cur = clause{from: i, hard: hard}
	}
	cur.to = len(words)
	return append(out, cur)
}

// clausesOf appends the items that the clauses of s have.
func (r *reader) clausesOf(s part, items []string) []string {
	words := wordsOf(s.mask)
	all := clauses(s, words)
	for i, c := range all {
		for _, cue := range r.clauses {
			at, ok := cue.in(words[c.from:c.to])
			if !ok {
				continue
			}
			at = span{at.start + c.from, at.end + c.from, at.from + c.from, at.to + c.from}
			if from, to, ok := cue.item(words, all, i, at); ok {
				items = appendItem(items, textOf(s, words, from, to))
				break
			}
		}
	}
	return items
}

// in finds the cue in a clause, unless something takes it back.
func (c cue) in(words []word) (span, bool) {
	lead, spoken := speaker(words)
	for at := 0; at <= len(words); at++ {
		for _, p := range c.say {
			s, ok := p.match(words, at)
			if !ok || s.end == at {
				continue
			}
			s.start = at
			if s.from < 0 {
				s.from, s.to = s.end, len(words)
			}
			if c.first && !lead[at] || c.spoken && !spoken[at] || c.takenBack(words, s) {
				continue
			}
			return s, true
		}
	}
	return span{}, false
}

// speaker returns where in words a predicate of the speaker may begin: at the
// start, or behind "I" and "we"; spoken where that, or a conjunction, is said.
func speaker(words []word) (lead, spoken map[int]bool) {
	lead, spoken = make(map[int]bool), make(map[int]bool)
	i := 0
	for i < len(words) && (conjunctions[words[i].text] || sets["speaker"][words[i].text] || words[i].text == "the" && i+1 < len(words) && words[i+1].text == "agent") {
		spoken[i+1] = words[i].text != "the"
		i++
	}
	lead[i] = true
	for j, w := range words {
		if w.text == "i" || w.text == "we" {
			lead[j+1], spoken[j+1] = true, true
		}
	}
	return lead, spoken
}

var conjunctions = set("but and however so also though although yet except finally then note while only currently")

// takenBack reports whether the words around s deny it, say that it is done, or
// are no work.
func (c cue) takenBack(words []word, s span) bool {
	before := words[:s.start]
	for i, w := range before {
		if denials[w.text] && (w.text != "not" || i+1 >= len(before) || before[i+1].text != "only") {
			return true
		}
		if c.counted && (element{kind: number}).is(w) {
			return true
		}
	}
	// "Fixed a and deferred b": what was done is another thing.
	and := 0
	for i, w := range before {
		if w.text == "and" {
			and = i + 1
		}
	}
	if slices.ContainsFunc(before[and:], func(w word) bool { return sets["gone"][w.text] && !w.glued }) && !c.first {
		return true
	}
	after := words[s.end:]
	if i := slices.IndexFunc(after, func(w word) bool { return until[w.text] }); i >= 0 {
		after = after[:i]
	}
	if _, done := find(finished, after, 0); done {
		return true
	}
	if c.spoken {
		return slices.ContainsFunc(after, func(w word) bool { return adjective[w.text] })
	}
	return false
}

// item returns the words of the item that the cue at s has in clause i of all.
func (c cue) item(words []word, all []clause, i int, s span) (from, to int, ok bool) {
	end := i + 1
	for end < len(all) && !all[end].hard {
		end++
	}
	switch c.take {
	case object:
		from, to = s.from, all[i].to
	case gap:
		from, to = s.from, s.to
	case subject:
		from, to = all[i].from, s.start
	default:
		from, to = all[i].from, all[end-1].to
	}
	for from < to && (conjunctions[words[from].text] || starters[words[from].text] && !pronouns[words[from].text] && words[from].text != "all") {
		from++
	}
	to = from + reason(words[from:to])
	if from < to && !pronouns[words[from].text] {
		return from, to, true
	}
	// It speaks of what was said before.
	from, to = all[i].from, all[end-1].to
	for j := i; j > 0 && !all[j].hard && pronouns[words[from].text]; j-- {
		from = all[j-1].from
	}
	return from, to, from < to
}

// reason returns how many words there are before a reason or a time is given.
func reason(words []word) int {
	for i := 1; i < len(words); i++ {
		if _, ok := find(reasons, words[i:min(i+3, len(words))], 0); ok && begins(reasons, words[i:]) {
			return i
		}
	}
	return len(words)
}

var reasons = phrases(`
	because|until|since
	due to
	for now
	in|to an? follow|followup
	yet $
	here $
	in|for this|the current run|change|pr|task|step`)

// textOf returns the text of words[from:to], with the brackets and code marks
// that belong to them.
func textOf(s part, words []word, from, to int) string {
	start, end := words[from].start, len(s.text)
	if to < len(words) {
		end = words[to-1].end
	}
	for start > 0 && (s.mask[start-1] != ' ' && s.mask[start-1] < 0x80 && unicode.IsPunct(rune(s.mask[start-1])) && s.mask[start-1] != ')' && s.mask[start-1] != ',') {
		start--
	}
	if to < len(words) && end < len(s.text) && s.mask[end] == ')' {
		end++
	}
	return s.text[start:end]
}

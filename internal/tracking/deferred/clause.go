package deferred

import "strings"

type clause struct {
	from, to int
	hard     bool // begins with "but" or a similar word, or after a semicolon or dash
}

// A clause begins at each word in breakers. It also begins at a word in starters after a comma, and
// at a word in coupled after a comma or "and".
var (
	starters = set(`but however so as because since which while whereas though although yet and then i we it this that these
		they nothing all no not left leaving`)
	breakers = set("but however whereas though although except while")
	coupled  = set("deferred skipped punted postponed left parked i we did")
	// Words in introductions and conjunctions begin a clause, but they are not part of the work
	// that the clause names.
	introductions = set("i we as because since whereas while")
	conjunctions  = set("but and however so also though although yet except finally then note while only currently")
	pronouns      = set("it this that these those they which who what everything")
)

func clauses(s fragment, words []word) []clause {
	var out []clause
	cur := clause{}
	for i := 1; i < len(words); i++ {
		between := s.mask[words[i-1].end:max(words[i].start, words[i-1].end)]
		hard := breakers[words[i].text] || strings.Contains(between, ";") || dashed(between)
		if hard || strings.Contains(between, ":") || starts(words[i:], strings.Contains(between, ",")) {
			cur.to = i
			out = append(out, cur)
			cur = clause{from: i, hard: hard}
		}
	}
	cur.to = len(words)
	return append(out, cur)
}

func dashed(s string) bool {
	return strings.Contains(s, " — ") || strings.Contains(s, " – ") || strings.Contains(s, " - ")
}

func starts(words []word, comma bool) bool {
	w := words[0].text
	if w == "and" && len(words) > 1 && coupled[words[1].text] {
		return true
	}
	return comma && (starters[w] || coupled[w] || strings.HasSuffix(w, "ed"))
}

func (r *reader) clausesOf(s fragment, items []string) []string {
	words := wordsOf(s.mask)
	all := clauses(s, words)
	for i, c := range all {
		for _, cue := range r.clauses {
			at, ok := cue.in(words[c.from:c.to])
			if !ok || cue.predicate && done(words, all[i+1:]) {
				continue
			}
			at = span{at.start + c.from, at.end + c.from, at.from + c.from, at.to + c.from}
			if settled(words[c.from:], words[at.start:]) {
				continue
			}
			if from, to, ok := cue.item(words, all, i, at); ok {
				items = appendItem(items, textOf(s, words, from, to))
				break
			}
		}
	}
	return items
}

func (c cue) in(words []word) (span, bool) {
	lead := speaker(words)
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
			if c.first && !lead[at] || c.retracted(words, s) {
				continue
			}
			return s, true
		}
	}
	return span{}, false
}

func speaker(words []word) (lead map[int]bool) {
	lead = make(map[int]bool)
	i := 0
	if len(words) > 1 && words[0].text == "the" && sets["speaker"][words[1].text] {
		i = 1
	}
	for i < len(words) && (conjunctions[words[i].text] || sets["speaker"][words[i].text] || sets["meant"][words[i].text]) {
		lead[i+1] = true
		i++
	}
	lead[i] = true
	for j, w := range words {
		if w.text == "i" || w.text == "we" {
			lead[j+1] = true
		}
	}
	return lead
}

func (c cue) item(words []word, all []clause, i int, s span) (from, to int, ok bool) {
	end := i + 1
	for end < len(all) && !all[end].hard {
		end++
	}
	last := all[end-1].to
	switch c.take {
	case object:
		from, to = s.from, all[i].to
	case gap:
		from, to = s.from, s.to
	case subject:
		from, to = all[i].from, s.start
		if from == to && i > 0 {
			from, to = all[i-1].from, all[i-1].to // "circuit breaking: deferred"
		}
	case whole:
		from, to = all[i].from, last
		if s.start == past(words, from, to) {
			from = all[max(i-1, 0)].from
		}
	}
	from = past(words, from, to)
	to = from + reason(words[from:to])
	if from < to && !pronouns[words[from].text] {
		return from, to, true
	}
	from = meant(words, all, i, last)
	return from, last, from < last
}

func meant(words []word, all []clause, i, to int) int {
	from := past(words, all[i].from, to)
	for ; i > 0 && !all[i].hard && from < to && pronouns[words[from].text]; i-- {
		from = past(words, all[i-1].from, to)
	}
	return from
}

func past(words []word, from, to int) int {
	for from < to {
		if w := words[from].text; !conjunctions[w] && !introductions[w] {
			break
		}
		from++
	}
	return from
}

func reason(words []word) int {
	for i := 1; i < len(words); i++ {
		if begins(reasons, words[i:]) {
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

func textOf(s fragment, words []word, from, to int) string {
	start, end := words[from].start, len(s.text)
	if to < len(words) {
		end = words[to-1].end
	}
	for start > 0 && strings.IndexByte("`\"'([{#-./@$", s.mask[start-1]) >= 0 {
		start--
	}
	if to < len(words) && end < len(s.text) && s.mask[end] == ')' {
		end++
	}
	return s.text[start:end]
}

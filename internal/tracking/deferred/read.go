package deferred

import (
	"slices"
	"strings"
	"unicode"
)

// reader finds items in a text, by what it looks for.
type reader struct {
	labels  []label
	clauses []cue
	done    bool // ticked items count, and no others

	items []string
	// open is the label whose list may follow, if any, and how it is going.
	open   *label
	listed bool // it has had a bullet
	indent int  // of its bullets
	given  bool // a number or an address stands behind it: a list may follow, no prose
	asked  bool // a question was put: the list below has the options
}

// read returns the items of text.
func (r *reader) read(text string) []string {
	for _, l := range linesOf(text) {
		switch question := isQuestion(part{l.text, l.mask}); {
		case l.bullet && (question || r.asked):
			r.open, r.asked = nil, true
		case l.ticked:
			r.tick(l)
		default:
			r.asked = question
			if !r.below(l) {
				r.sentences(l)
			}
		}
	}
	return r.items
}

// tick takes a line whose box is ticked.
func (r *reader) tick(l line) {
	if r.done {
		r.items = appendItem(r.items, firstOf(part{l.text, l.mask}))
	}
}

// below takes a line that stands below an open label, and reports whether that
// is all it is.
func (r *reader) below(l line) bool {
	p := part{l.text, l.mask}
	if r.open == nil || l.heading || r.relabels(l, p) {
		return false
	}
	deeper := l.indent - r.indent
	switch {
	case !r.listed && l.bullet, l.bullet && (deeper == 0 || deeper == 1):
		r.listed, r.indent = true, l.indent
		r.add(r.open, part{firstOf(p), ""})
	case r.listed:
		return deeper > 0 // says more about the item above
	case strings.HasSuffix(l.mask, ":"):
		// Introduces the list.
	default:
		r.paragraph(l, p)
	}
	return true
}

// relabels reports whether l has a label of its own: below another, a bullet with
// a text behind its label is just an item.
func (r *reader) relabels(l line, p part) bool {
	_, rest, ok := r.label(l, p)
	return ok && (rest.text == "" || !l.bullet)
}

// paragraph takes a line below an open label that is no list: its first sentence
// is the item.
func (r *reader) paragraph(l line, p part) {
	open, given := r.open, r.given
	r.sentences(l)
	if s := sentences(p); len(s) > 0 && !given && r.open == nil && len(r.clausesOf(s[0], nil)) == 0 && !offers(s[0]) {
		r.add(open, s[0])
	}
}

// sentences takes a line as what it says.
func (r *reader) sentences(l line) {
	r.open = nil
	for _, whole := range sentences(part{l.text, l.mask}) {
		for _, s := range asides(whole) {
			r.open = nil
			if label, rest, ok := r.label(l, s); ok {
				r.labelled(label, rest)
			} else if !offers(s) {
				r.said(s)
			}
		}
	}
}

// labelled takes what stands behind a label. Where that is nothing but a number
// or an address, a list may follow.
func (r *reader) labelled(l *label, rest part) {
	if !says(rest) && (rest.text == "" || !l.counted) {
		r.open, r.listed, r.given = l, false, strings.TrimSpace(rest.text) != ""
		return
	}
	for _, item := range listed(rest) {
		items := []part{item}
		if l.short {
			items = short(item)
		}
		for _, item := range items {
			if says(item) {
				r.add(l, item)
			}
		}
	}
}

// said takes a sentence. One with a colon at its end introduces a list: "I did
// not get to these:".
func (r *reader) said(s part) {
	items := r.clausesOf(s, nil)
	if len(items) > 0 && strings.HasSuffix(strings.TrimSpace(s.mask), ":") {
		r.open, r.listed, r.given = &r.labels[0], false, false
		return
	}
	for _, item := range items {
		p := part{item, item}
		parts := numbered(p)
		if parts == nil || numbers(item)[0].start > 0 {
			parts = []part{p}
		}
		for _, p := range parts {
			r.items = appendItem(r.items, p.text)
		}
	}
}

// add appends an item of a label, unless it is a count.
func (r *reader) add(l *label, item part) {
	if words := wordsOf(item.text); l.counted && len(words) > 0 && isNumber(words[0]) {
		return
	}
	if strings.HasSuffix(item.text, "✅") || strings.HasPrefix(item.text, "~~") {
		return
	}
	r.items = appendItem(r.items, item.text)
}

// offers reports whether s asks, offers or advises.
func offers(s part) bool { return isQuestion(s) || begins(offered, wordsOf(s.mask)) }

func isQuestion(s part) bool { return strings.HasSuffix(strings.TrimRight(s.mask, ` )"'*`), "?") }

// firstOf returns the first sentence of p.
func firstOf(p part) string {
	for _, s := range sentences(p) {
		return s.text
	}
	return p.text
}

// label returns the label that s begins with, and what stands behind it. A label
// without a colon is one as a heading, or alone on its line.
func (r *reader) label(l line, s part) (found *label, rest part, ok bool) {
	name, rest, sep := separated(s)
	if alone := l.heading || len(s.mask) == len(l.mask); sep == "" && (l.bullet || !alone) {
		return nil, rest, false
	}
	words := labelWords(name)
	if !isName(words, sep) {
		return nil, rest, false
	}
	i := slices.IndexFunc(r.labels, func(l label) bool { return are(l.say, words) })
	if i < 0 {
		return nil, rest, false
	}
	return &r.labels[i], rest, true
}

// labelWords returns the words of a label's name without its modifiers.
func labelWords(name string) []word {
	words := wordsOf(name)
	for len(words) > 0 && modifiers[words[0].text] {
		words = words[1:]
	}
	return words
}

// isName reports whether words may name what follows sep.
func isName(words []word, sep string) bool {
	longest := 4
	if sep == ":" {
		longest = 10
	}
	n := len(words)
	return n > 0 && n <= longest && !products[words[n-1].text]
}

// separated splits s behind its label: at the first colon, at a dash, or at the
// comma of "as a follow-up, …". Brackets are no part of a label.
func separated(s part) (name string, rest part, sep string) {
	at, width := -1, 1
	for _, mark := range []string{":", " - ", " – ", " — "} {
		i := strings.Index(s.mask+" ", mark)
		if mark == ":" {
			i = strings.Index(s.mask+" ", ": ")
		}
		if i >= 0 && (at < 0 || i < at) {
			at, width, sep = i, len(mark), mark
		}
	}
	if at < 0 {
		if i := strings.Index(s.mask, ", "); i >= 0 && asFollowUp(s.mask[:i]) {
			at, sep = i, ","
		}
	}
	if at < 0 {
		return withoutBrackets(s.mask), part{}, ""
	}
	return withoutBrackets(s.mask[:at]), s.cut(min(at+width, len(s.mask)), len(s.mask)), sep
}

func asFollowUp(s string) bool { return begins(instead, wordsOf(s)) }

var instead = phrases("as|for a|an? next|follow|followup|later")

// withoutBrackets returns s without what it has in round brackets.
func withoutBrackets(s string) string {
	open := strings.Index(s, "(")
	if open < 0 {
		return s
	}
	n := strings.Index(s[open:], ")")
	if n < 0 {
		return s
	}
	return s[:open] + s[open+n+1:]
}

// says reports whether p is more than a number or an address.
func says(p part) bool {
	text := strings.TrimSpace(p.text)
	return strings.ContainsFunc(text, unicode.IsLetter) && !strings.HasPrefix(text, "http")
}

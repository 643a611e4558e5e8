package deferral

import (
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
	prose  bool // it is a heading, below which a sentence may be the item
}

// read returns the items of text.
func (r *reader) read(text string) []string {
	for _, l := range linesOf(text) {
		if l.ticked {
			r.tick(l)
			continue
		}
		if r.below(l) {
			continue
		}
		r.sentences(l)
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
	if r.open == nil {
		return false
	}
	p := part{l.text, l.mask}
	if _, rest, found := r.label(l, p); found && (rest.text == "" || !l.bullet) {
		return false
	}
	switch {
	case l.heading:
	case l.bullet && (!r.listed || l.indent <= r.indent+1 && l.indent >= r.indent):
		r.listed, r.indent = true, l.indent
		r.add(r.open, part{firstOf(p), ""})
		return true
	case l.bullet && l.indent > r.indent, !l.bullet && r.listed && l.indent > r.indent:
		return true // says more about the item above
	case !l.bullet && !r.listed && strings.HasSuffix(l.mask, ":"):
		return true // introduces the list
	case !l.bullet && !r.listed && r.prose && r.open.prose:
		r.prose = false
		if s := sentences(p); len(s) > 0 && !isQuestion(s[0]) && len(r.clausesOf(s[0], nil)) == 0 {
			r.add(r.open, s[0])
		}
		return false
	}
	r.open = nil
	return false
}

// sentences takes a line as what it says.
func (r *reader) sentences(l line) {
	r.open = nil
	for _, s := range sentences(part{l.text, l.mask}) {
		r.open = nil
		if found, rest, ok := r.label(l, s); ok {
			if rest.text == "" {
				r.open, r.listed, r.prose = found, false, l.heading
			}
			for _, item := range listed(rest) {
				r.add(found, item)
			}
			continue
		}
		if isQuestion(s) || begins(offers, wordsOf(s.mask)) {
			continue
		}
		r.items = r.clausesOf(s, r.items)
	}
}

// add appends an item of a label, unless it is a count.
func (r *reader) add(l *label, item part) {
	words := wordsOf(item.text)
	if l.counted && len(words) > 0 && sets["number"][words[0].text] || l.counted && startsWithDigit(item.text) {
		return
	}
	if strings.HasSuffix(item.text, "✅") || strings.HasPrefix(item.text, "~~") {
		return
	}
	r.items = appendItem(r.items, item.text)
}

func startsWithDigit(s string) bool {
	s = strings.TrimSpace(s)
	return s != "" && unicode.IsDigit(rune(s[0]))
}

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
	words := wordsOf(name)
	if sep == "" && !l.heading && len(s.mask) != len(l.mask) || sep == "" && l.bullet {
		return nil, rest, false
	}
	for len(words) > 0 && modifiers[words[0].text] {
		words = words[1:]
	}
	for i := range r.labels {
		found := &r.labels[i]
		if len(words) == 0 || !are(found.say, words) {
			continue
		}
		if isLoose := sep != ":" && len(words) > 4; isLoose || products[words[len(words)-1].text] {
			continue
		}
		return found, rest, true
	}
	return nil, rest, false
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

func asFollowUp(s string) bool {
	return begins(phrases("as|for a|an? next|follow|followup|later"), wordsOf(s))
}

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

// listed splits what stands behind a label: at semicolons, and at "(1) … (2) …".
func listed(p part) []part {
	var items []part
	start := 0
	for i := range len(p.mask) {
		switch {
		case p.mask[i] == ';':
		case p.mask[i] == '(' && i+2 < len(p.mask) && unicode.IsDigit(rune(p.mask[i+1])) && p.mask[i+2] == ')':
		default:
			continue
		}
		items = append(items, p.cut(start, i))
		start = i + 1
		if p.mask[i] == '(' {
			start = i + 3
		}
	}
	return append(items, p.cut(start, len(p.mask)))
}

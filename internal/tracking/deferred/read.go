package deferred

import (
	"slices"
	"strings"
	"unicode"
)

type reader struct {
	labels  []label
	clauses []cue
	done    bool // read finished work, which includes ticked items

	items  []string
	open   *label // label of the next list, or nil
	listed bool   // the list of the open label has begun
	indent int    // indentation of the bullets in that list
	number bool   // a number or an address follows the label, so a paragraph below is not an item
	plan   bool   // the list is a plan for tests, not work that was left
	asked  bool   // after a question, the next list contains options
}

func (r *reader) read(text string) []string {
	for _, l := range linesOf(text) {
		switch question := isQuestion(fragment{l.text, l.mask}); {
		case l.bullet && (question || r.asked):
			r.open, r.asked = nil, true
		case l.ticked:
			r.tick(l)
		default:
			r.asked = question
			if !r.below(l) {
				r.line(l)
			}
		}
	}
	return r.items
}

func (r *reader) line(l line) {
	if l.box && !r.done && !r.plan {
		r.add(&r.labels[0], fragment{firstOf(fragment{l.text, l.mask}), ""})
		return
	}
	r.plan = r.plan && l.bullet || (l.heading || strings.HasSuffix(l.mask, ":")) && found(plans, wordsOf(l.mask))
	r.sentences(l)
}

var plans = phrases(`
	test|testing|verification|review|qa plan|plans|checklist|steps|list
	how to test|verify|review
	template`)

func (r *reader) tick(l line) {
	if r.done {
		r.items = appendItem(r.items, firstOf(fragment{l.text, l.mask}))
	}
}

func (r *reader) below(l line) bool {
	p := fragment{l.text, l.mask}
	if r.open == nil || l.heading || r.relabels(l, p) {
		return false
	}
	deeper := l.indent - r.indent
	switch {
	case !r.listed && l.bullet, l.bullet && (deeper == 0 || deeper == 1):
		r.listed, r.indent = true, l.indent
		r.add(r.open, fragment{firstOf(p), ""})
	case r.listed:
		return deeper > 0 // continues the item above
	case strings.HasSuffix(l.mask, ":"):
		// This line only introduces the list below it, so it is not an item.
	default:
		r.paragraph(l, p)
	}
	return true
}

func (r *reader) relabels(l line, p fragment) bool {
	_, rest, ok := r.label(l, p)
	return ok && (rest.text == "" || !l.bullet)
}

func (r *reader) paragraph(l line, p fragment) {
	open, number := r.open, r.number
	r.sentences(l)
	if s := sentences(p); len(s) > 0 && !number && r.open == nil && len(r.clausesOf(s[0], nil)) == 0 && !offers(s[0]) {
		r.add(open, s[0])
	}
}

func (r *reader) sentences(l line) {
	r.open = nil
	for _, whole := range sentences(fragment{l.text, l.mask}) {
		for _, s := range splitLabel(whole) {
			r.open = nil
			if label, rest, ok := r.label(l, s); ok {
				r.labelled(label, rest)
			} else if !offers(s) {
				r.sentence(s)
			}
		}
	}
}

func (r *reader) labelled(l *label, rest fragment) {
	if !hasText(rest) && (rest.text == "" || !l.counted) {
		r.open, r.listed, r.number = l, false, strings.TrimSpace(rest.text) != ""
		return
	}
	for _, item := range listed(rest) {
		items := []fragment{item}
		if l.short {
			items = short(item)
		}
		for _, item := range items {
			if hasText(item) {
				r.add(l, item)
			}
		}
	}
}

func (r *reader) sentence(s fragment) {
	items := r.clausesOf(s, nil)
	if len(items) > 0 && strings.HasSuffix(strings.TrimSpace(s.mask), ":") {
		r.open, r.listed, r.number = &r.labels[0], false, false
		return
	}
	for _, item := range items {
		p := fragment{item, item}
		fragments := numbered(p)
		if fragments == nil || numbers(item)[0].start > 0 {
			fragments = []fragment{p}
		}
		for _, p := range fragments {
			r.items = appendItem(r.items, p.text)
		}
	}
}

func (r *reader) add(l *label, item fragment) {
	if words := wordsOf(item.text); l.counted && len(words) > 0 && isNumber(words[0]) {
		return
	}
	if strings.HasSuffix(item.text, "✅") || strings.HasPrefix(item.text, "~~") {
		return
	}
	r.items = appendItem(r.items, item.text)
}

func offers(s fragment) bool {
	words := wordsOf(s.mask)
	return isQuestion(s) || begins(offered, words) || begins(please, words) && !requested(words)
}

func requested(words []word) bool { return begins(requests, words) && !found(optional, words) }

func isQuestion(s fragment) bool { return strings.HasSuffix(strings.TrimRight(s.mask, ` )"'*`), "?") }

func firstOf(p fragment) string {
	for _, s := range sentences(p) {
		return s.text
	}
	return p.text
}

func (r *reader) label(l line, s fragment) (found *label, rest fragment, ok bool) {
	name, rest, sep := separated(s)
	if alone := l.heading || len(s.mask) == len(l.mask); sep == "" && (l.bullet || !alone) {
		return nil, rest, false
	}
	words := labelWords(name)
	if !isName(words, sep) {
		return nil, rest, false
	}
	all := wordsOf(name)
	if isProduct(words) || meansAll(name, words) {
		return nil, rest, false
	}
	i := slices.IndexFunc(r.labels, func(l label) bool { return are(l.say, words) || len(all) > len(words) && are(l.say, all) })
	if i < 0 {
		return nil, rest, false
	}
	return &r.labels[i], rest, true
}

func labelWords(name string) []word {
	words := wordsOf(name)
	for len(words) > 0 && modifiers[words[0].text] {
		words = words[1:]
	}
	return words
}

// isProduct reports whether the words are a name such as "Todo list screen", in which "todo" means
// no deferred work.
func isProduct(words []word) bool {
	n := len(words)
	return n > 1 && todo[words[0].text] && uses[words[n-1].text] &&
		!slices.ContainsFunc(words, func(w word) bool { return prepositions[w.text] || w.text == "for" })
}

// meansAll recognises the Spanish word "todo" (all), as in "Todo listo: las pruebas pasan".
func meansAll(name string, words []word) bool {
	return len(words) > 1 && todo[words[0].text] && !strings.HasPrefix(name, "TODO") && allOf[words[1].text]
}

var (
	todo  = set("todo todos to-do")
	allOf = set(`listo lista listos bien correcto hecho terminado completo completado resuelto en el la lo los está esta es
		ok verde funciona pasa queda sigue certo pronto feito concluído`)
	uses = set(`app application screen page view widget board component endpoint form dialog service model table api
		module demo example project website site store reducer`)
)

func isName(words []word, sep string) bool {
	longest := 4
	if sep == ":" {
		longest = 10
	}
	n := len(words)
	return n > 0 && n <= longest && !products[words[n-1].text]
}

func separated(s fragment) (name string, rest fragment, sep string) {
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
		return withoutBrackets(s.mask), fragment{}, ""
	}
	return withoutBrackets(s.mask[:at]), s.cut(min(at+width, len(s.mask)), len(s.mask)), sep
}

func asFollowUp(s string) bool { return begins(instead, wordsOf(s)) }

var instead = phrases("as|for a|an? next|follow|followup|later")

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

func hasText(p fragment) bool {
	text := strings.TrimSpace(p.text)
	return strings.ContainsFunc(text, unicode.IsLetter) && !strings.HasPrefix(text, "http")
}

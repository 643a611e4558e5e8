package deferred

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

func listed(p fragment) []fragment {
	if items := numbered(p); items != nil {
		return items
	}
	var items []fragment
	for {
		i := strings.IndexByte(p.mask, ';')
		if i < 0 {
			return append(items, p)
		}
		items = append(items, p.cut(0, i))
		p = p.cut(i+1, len(p.mask))
	}
}

func numbered(p fragment) []fragment {
	marks := numbers(p.mask)
	if len(marks) == 0 || len(marks) == 1 && strings.TrimSpace(p.mask[:marks[0].start]) != "" {
		return nil
	}
	var items []fragment
	for i, m := range marks {
		to := len(p.mask)
		if i+1 < len(marks) {
			to = marks[i+1].start
		}
		item := p.cut(m.end, to)
		for _, joint := range []string{" and", " and then"} {
			item = item.cut(0, len(strings.TrimSuffix(strings.TrimRight(item.mask, " "), joint)))
		}
		items = append(items, item.cut(0, len(strings.TrimRight(item.mask, " ,;"))))
	}
	return items
}

type numberMark struct{ start, end int }

func numbers(mask string) []numberMark {
	var marks []numberMark
	next := "1"
	for i := range len(mask) {
		if i > 0 && mask[i-1] != ' ' {
			continue
		}
		if n := numberAt(mask[i:], next); n > 0 {
			marks = append(marks, numberMark{i, i + n})
			next = strconv.Itoa(len(marks) + 1)
		}
	}
	return marks
}

func numberAt(s, n string) int {
	rest, open := strings.CutPrefix(s, "(")
	rest, ok := strings.CutPrefix(rest, n)
	if !ok || len(rest) < 2 || rest[1] != ' ' || rest[0] != ')' && (open || rest[0] != '.') {
		return 0
	}
	return len(s) - len(rest) + 1
}

// joined replaces full stops in a list after a colon, such as "1. … 2. …", so that the list becomes
// one sentence.
func joined(mask string) string {
	marks := numbers(mask)
	if len(marks) < 2 || !strings.HasSuffix(mask[:marks[0].start], ": ") {
		return mask
	}
	out := []byte(mask)
	for i, m := range marks {
		out[m.end-1] = ')'
		if i > 0 && mask[m.start-2] == '.' {
			out[m.start-2] = ';'
		}
	}
	return string(out)
}

func short(p fragment) []fragment {
	fragments := enumerated(p)
	verbs := make([]bool, len(fragments))
	for i, item := range fragments {
		words := wordsOf(item.mask)
		if len(words) == 0 || len(strings.Fields(item.mask)) > 4 || Nothing(item.text) || isSentence(words) {
			return []fragment{p}
		}
		verbs[i] = len(words) > 1 && sets["work"][words[0].text]
	}
	if len(fragments) > 0 && verbs[0] && slices.Contains(verbs, false) {
		return []fragment{p} // the verb applies to all, as in "port the reports, invoices"
	}
	return fragments
}

func isSentence(words []word) bool {
	return joints[words[0].text] || slices.ContainsFunc(words, func(w word) bool { return telling[w.text] }) ||
		slices.ContainsFunc(words[1:], func(w word) bool { return sets["worked"][w.text] })
}

var (
	joints = set(`in on by at from with without during for to as after before of or but so then not only mostly probably
		maybe possibly especially including`)
	telling = set(`is are was were be been has have had do does did will would should can could must may might need needs
		works fails fail pass passes because since once if when until unless while which who that it they this these i we
		not no now seems looks`)
)

func enumerated(p fragment) []fragment {
	var fragments []fragment
	start, depth := 0, 0
	split := func(at, next int) {
		if words := wordsOf(p.mask[start:at]); len(words) > 0 && words[0].text != "etc" {
			fragments = append(fragments, p.cut(start, at))
		}
		start = next
	}
	for i := range len(p.mask) {
		switch {
		case i < start:
		case p.mask[i] == '(':
			depth++
		case p.mask[i] == ')':
			depth--
		case depth > 0:
		case p.mask[i] == ',' && !withinNumber(p.mask, i):
			split(i, i+1)
		case strings.HasPrefix(p.mask[i:], " and ") && !shares(p.mask[start:i], p.mask[i+len(" and "):]):
			split(i, i+len(" and "))
		}
	}
	split(len(p.mask), len(p.mask))
	return fragments
}

// shares reports whether two names share a noun after "and", as in "unit and integration tests".
func shares(before, after string) bool {
	after, _, _ = strings.Cut(after[:min(len(after), maxInner)], ",")
	return len(strings.Fields(before)) == 1 && len(strings.Fields(after)) > 1 && !strings.ContainsAny(before, "./")
}

func withinNumber(s string, i int) bool {
	return i > 0 && i+1 < len(s) && unicode.IsDigit(rune(s[i-1])) && unicode.IsDigit(rune(s[i+1]))
}

const maxInner = 60

// splitLabel splits a sentence before a label, as in "Resolved 3 of 5; remaining: a.go".
func splitLabel(s fragment) []fragment {
	for i := range len(s.mask) {
		n := opener(s.mask[i:])
		if n == 0 {
			continue
		}
		name, rest, ok := strings.Cut(s.mask[i+n:min(i+n+maxInner, len(s.mask))], ":")
		if words := labelWords(name); !ok || !isName(words, ":") || !are(remaining, words) && !are(inline, words) {
			continue
		}
		tail := s.cut(i+n, len(s.mask))
		if s.mask[i] != '(' {
			return []fragment{s.cut(0, i), tail}
		}
		if words := wordsOf(rest); len(words) > 0 && isNumber(words[0]) {
			continue // a count, not work
		}
		if end := strings.IndexByte(tail.mask, ')'); end >= 0 {
			tail = tail.cut(0, end)
		}
		return []fragment{s.cut(0, i), tail}
	}
	return []fragment{s}
}

var inline = phrases("todo|fixme|followup \n follow up")

func opener(s string) int {
	for _, sign := range []string{"(", "; ", ", ", " - ", " – ", " — "} {
		if strings.HasPrefix(s, sign) {
			return len(sign)
		}
	}
	return 0
}

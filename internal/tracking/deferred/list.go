package deferred

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// listed splits what stands behind a label: at the numbers of "1) … 2) …", else
// at semicolons.
func listed(p part) []part {
	if items := numbered(p); items != nil {
		return items
	}
	var items []part
	for {
		i := strings.IndexByte(p.mask, ';')
		if i < 0 {
			return append(items, p)
		}
		items = append(items, p.cut(0, i))
		p = p.cut(i+1, len(p.mask))
	}
}

// numbered returns what stands behind the numbers of "(1) … (2) …"; nil if p is
// no such list.
func numbered(p part) []part {
	marks := numbers(p.mask)
	if len(marks) == 0 || len(marks) == 1 && strings.TrimSpace(p.mask[:marks[0].start]) != "" {
		return nil
	}
	var items []part
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

// numberMark is where an inline number stands, with its bracket or stop.
type numberMark struct{ start, end int }

// numbers returns where "1)", "(2)" or "3." stand in mask, as far as they count up
// from one.
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

// numberAt returns how long the mark of the number n is that s begins with, 0 if
// it begins with none.
func numberAt(s, n string) int {
	rest, open := strings.CutPrefix(s, "(")
	rest, ok := strings.CutPrefix(rest, n)
	if !ok || len(rest) < 2 || rest[1] != ' ' || rest[0] != ')' && (open || rest[0] != '.') {
		return 0
	}
	return len(s) - len(rest) + 1
}

// joined returns mask with the numbers behind a colon as "1)", and no stops before
// them, so that no sentence ends within the list.
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

// short returns the parts of "a.go, b.go and c.go", if all are as short as names
// and none makes a sentence of it; else p alone.
func short(p part) []part {
	parts := enumerated(p)
	verbs := make([]bool, len(parts))
	for i, item := range parts {
		words := wordsOf(item.mask)
		if len(words) == 0 || len(strings.Fields(item.mask)) > 4 || Nothing(item.text) || tells(words) {
			return []part{p}
		}
		verbs[i] = len(words) > 1 && sets["work"][words[0].text]
	}
	if len(parts) > 0 && verbs[0] && slices.Contains(verbs, false) {
		return []part{p} // "port the reports, invoices": the verb is that of all
	}
	return parts
}

// tells reports whether words of a list are a sentence, or go on with one.
func tells(words []word) bool {
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

// enumerated splits p at commas and "and" outside of brackets and of numbers, and
// leaves an "etc." out.
func enumerated(p part) []part {
	var parts []part
	start, depth := 0, 0
	split := func(at, next int) {
		if words := wordsOf(p.mask[start:at]); len(words) > 0 && words[0].text != "etc" {
			parts = append(parts, p.cut(start, at))
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
	return parts
}

// shares reports whether the noun of after is that of before, too: "unit" and
// "integration tests".
func shares(before, after string) bool {
	after, _, _ = strings.Cut(after[:min(len(after), maxAside)], ",")
	return len(strings.Fields(before)) == 1 && len(strings.Fields(after)) > 1 && !strings.ContainsAny(before, "./")
}

// withinNumber reports whether digits surround s[i].
func withinNumber(s string, i int) bool {
	return i > 0 && i+1 < len(s) && unicode.IsDigit(rune(s[i-1])) && unicode.IsDigit(rune(s[i+1]))
}

// maxAside bounds the bytes of a label within a sentence.
const maxAside = 60

// asides cuts s before a label for what remains that it has within: "Resolved 3 of
// 5; remaining: a.go", "3 of 5 are resolved (remaining: a.go)".
func asides(s part) []part {
	for i := range len(s.mask) {
		n := opener(s.mask[i:])
		if n == 0 {
			continue
		}
		name, rest, ok := strings.Cut(s.mask[i+n:min(i+n+maxAside, len(s.mask))], ":")
		if words := labelWords(name); !ok || !isName(words, ":") || !are(remaining, words) {
			continue
		}
		tail := s.cut(i+n, len(s.mask))
		if s.mask[i] != '(' {
			return []part{s.cut(0, i), tail}
		}
		if words := wordsOf(rest); len(words) > 0 && isNumber(words[0]) {
			continue // a count
		}
		if end := strings.IndexByte(tail.mask, ')'); end >= 0 {
			tail = tail.cut(0, end)
		}
		return []part{s.cut(0, i), tail}
	}
	return []part{s}
}

// opener returns how long what s begins with is that may stand before a label
// within a sentence, 0 if it is nothing of that kind.
func opener(s string) int {
	for _, sign := range []string{"(", "; ", ", ", " - ", " – ", " — "} {
		if strings.HasPrefix(s, sign) {
			return len(sign)
		}
	}
	return 0
}

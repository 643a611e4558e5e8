package deferred

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

type line struct {
	indent  int
	bullet  bool
	heading bool // begins with "#", or is completely bold
	box     bool // has an empty box
	ticked  bool // has a ticked box or a check mark, or is struck out
	text    string
	// mask is a copy of text in which the letter x replaces each byte of code and quotations, so
	// that no phrase is found there.
	mask string
}

func linesOf(text string) []line {
	if len(text) > maxText {
		text = text[len(text)-maxText:]
	}
	var lines []line
	var state blockState
	for raw := range strings.Lines(strings.ToValidUTF8(text, "")) {
		raw = strings.TrimRight(raw, " \t\r\n")
		body := strings.TrimLeft(raw, " \t")
		indent := width(raw[:len(raw)-len(body)])
		if blank := !state.after; !state.skips(body, indent) && body != "" {
			l := lineOf(body, indent)
			state.list = l.bullet || state.list && indent > 0
			lines = appendLine(lines, l, blank)
		}
	}
	return lines
}

type blockState struct {
	fence string // mark of the open code block, or empty
	after bool   // the previous line is not blank
	list  bool
}

func (at *blockState) skips(body string, indent int) bool {
	mark := fenceOf(body)
	switch {
	case at.fence != "":
		if mark == at.fence {
			at.fence = ""
		}
		return true
	case mark != "":
		at.fence, at.after = mark, true
		return true
	case body == "":
		at.after = false
		return false
	}
	if !at.after && !at.list && indent >= 4 && bulletMark(body) == 0 {
		return true // indented code
	}
	at.after = true
	return body[0] == '>' || body[0] == '|'
}

func appendLine(lines []line, l line, blank bool) []line {
	if n := len(lines); n > 0 && !blank && continues(lines[n-1], l) {
		lines[n-1].text += " " + l.text
		lines[n-1].mask += " " + l.mask
		return lines
	}
	if l.text == "" {
		return lines
	}
	return append(lines, l)
}

func fenceOf(body string) string {
	for _, mark := range []string{"```", "~~~"} {
		if rest, ok := strings.CutPrefix(body, mark); ok && !strings.Contains(rest, mark) {
			return mark
		}
	}
	return ""
}

func width(space string) int { return len(space) + 3*strings.Count(space, "\t") }

func continues(l, next line) bool {
	r, _ := utf8.DecodeRuneInString(next.text)
	return !next.bullet && !next.heading && !l.heading && unicode.IsLower(r) &&
		len(l.text) >= 40 && !strings.ContainsAny(l.text[len(l.text)-1:], ".:!?")
}

func lineOf(body string, indent int) line {
	l := line{indent: indent}
	body = strings.ReplaceAll(body, "：", ": ")
	if rest := strings.TrimLeft(body, "#"); rest != body {
		l.heading, body = true, strings.TrimSpace(rest)
	}
	if n := bulletMark(body); n > 0 && !l.heading {
		l.bullet, body = true, strings.TrimSpace(body[n:])
	}
	for _, box := range []string{"[x]", "[X]", "[ ]"} {
		if rest, ok := strings.CutPrefix(body, box); ok {
			body, l.bullet, l.ticked, l.box = strings.TrimSpace(rest), true, box != "[ ]", box == "[ ]"
		}
	}
	rest := strings.TrimLeftFunc(body, isSign)
	l.ticked = l.ticked || strings.HasPrefix(body, "~~") || strings.ContainsAny(body[:len(body)-len(rest)], "✅✔☑✓")
	l.heading = l.heading || !l.bullet && isBold(rest)
	l.text, l.mask = masked(rest)
	l.mask = joined(l.mask)
	return l
}

func isSign(r rune) bool {
	return r != '`' && unicode.In(r, unicode.So, unicode.Sk, unicode.Mn, unicode.Zs) || r == '\u200d'
}

func isBold(s string) bool {
	return strings.HasPrefix(s, "**") && strings.HasSuffix(strings.TrimRight(s, ":"), "**") && strings.Count(s, "**") == 2
}

func bulletMark(body string) int {
	for _, mark := range []string{"- ", "* ", "+ ", "• ", "– ", "— "} {
		if strings.HasPrefix(body, mark) {
			return len(mark)
		}
	}
	n := 0
	for n < len(body) && n < 3 && body[n] >= '0' && body[n] <= '9' {
		n++
	}
	if n > 0 && n+1 < len(body) && (body[n] == '.' || body[n] == ')') && body[n+1] == ' ' {
		return n + 2
	}
	return 0
}

const maxShown = 500

var closing = map[rune]string{'`': "`", '"': `"`, '“': "”", '‘': "’", '\'': "'", '«': "»"}

func masked(s string) (text, mask string) {
	var t, m strings.Builder
	before := ' '
	for s != "" {
		if rest, ok := strings.CutPrefix(s, "**"); ok {
			s = rest
			continue
		}
		r, n := utf8.DecodeRuneInString(s)
		if end := shown(s, r, n, before); end > 0 {
			t.WriteString(s[:end])
			m.WriteString(strings.Repeat("x", end))
			s, before = s[end:], 'x'
			continue
		}
		if r == '_' && strings.HasPrefix(s, "__") && !unicode.IsLetter(before) {
			s = s[2:]
			continue
		}
		t.WriteString(s[:n])
		m.WriteString(s[:n])
		s, before = s[n:], r
	}
	return t.String(), m.String()
}

// shown returns the length of the code or quotation at the start of s, or 0. A quotation mark after
// a letter is an apostrophe.
func shown(s string, r rune, n int, before rune) int {
	mark, ok := closing[r]
	if !ok || r != '`' && (unicode.IsLetter(before) || unicode.IsDigit(before)) {
		return 0
	}
	s = s[:min(len(s), maxShown)]
	rest := s[n:]
	if r == '`' {
		ticks := len(s) - len(strings.TrimLeft(s, "`"))
		mark, rest, n = s[:ticks], s[ticks:], ticks
	}
	for from := 0; ; {
		i := strings.Index(rest[from:], mark)
		if i < 0 || from+i == 0 {
			return 0
		}
		end := from + i + len(mark)
		after, _ := utf8.DecodeRuneInString(rest[end:])
		if r != '\'' && r != '‘' || !unicode.IsLetter(after) {
			return n + end
		}
		from = end
	}
}

type fragment struct{ text, mask string }

func (p fragment) cut(from, to int) fragment { return fragment{p.text[from:to], p.mask[from:to]} }

func sentences(p fragment) []fragment {
	var out []fragment
	start := 0
	for i := 0; i < len(p.mask); i++ {
		if n := fullStop(p.mask[i:]); n > 0 {
			out = append(out, p.cut(start, i+n))
			start, i = i+n, i+n-1
			continue
		}
		if !strings.ContainsRune(".!?", rune(p.mask[i])) {
			continue
		}
		end := i + 1
		for end < len(p.mask) && strings.IndexByte(".!?)]\"'", p.mask[end]) >= 0 {
			end++
		}
		if end < len(p.mask) && (p.mask[end] != ' ' || abbreviated(p.mask[start:i])) {
			i = end - 1
			continue
		}
		out = append(out, p.cut(start, end))
		start, i = end, end-1
	}
	if strings.TrimSpace(p.mask[start:]) != "" {
		out = append(out, p.cut(start, len(p.mask)))
	}
	return out
}

// fullStop returns the length of a Chinese or Japanese full stop at the start of s, or 0. No space
// follows it.
func fullStop(s string) int {
	for _, mark := range []string{"。", "！", "？"} {
		if strings.HasPrefix(s, mark) {
			return len(mark)
		}
	}
	return 0
}

func abbreviated(s string) bool {
	last := s[strings.LastIndexAny(s, " (")+1:]
	return abbreviations[strings.ToLower(last)]
}

var abbreviations = set("e.g i.e vs approx incl cf no fig eg ie")

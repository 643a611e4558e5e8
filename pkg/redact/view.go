package redact

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxViews limits how often a text is decoded. Each level of JSON inside JSON strings is decoded
// separately, and so are colours inside JSON.
const maxViews = 6

type view struct {
	text   string
	pieces []piece // in the order of the text
	before *view   // nil for the first view
	joins  bool    // can have keywords that the text before it does not have
}

// Parts of the same size have the same bytes. Otherwise, the piece is one decoded escape.
type piece struct {
	at, size    int
	from, width int
}

func (v *view) next(text string) *view {
	var b strings.Builder
	decoded := &view{before: v}
	add := func(from, width int, as string) {
		decoded.pieces = append(decoded.pieces, piece{at: b.Len(), size: len(as), from: from, width: width})
		b.WriteString(as)
	}
	kept := 0 // start of the text since the last escape
	for i := nextEscape(text, 0); i < len(text); {
		as, width := decodeEscape(text, i)
		if width == 0 {
			i = nextEscape(text, i+1)
			continue
		}
		if b.Len() == 0 {
			b.Grow(len(text))
		}
		if kept < i {
			add(kept, i-kept, text[kept:i])
		}
		if as != "" {
			add(i, width, as)
		}
		decoded.joins = decoded.joins || width != 2 || as == "" || as == "/"
		kept = i + width
		i = nextEscape(text, kept)
	}
	if kept == 0 {
		return nil
	}
	if kept < len(text) {
		add(kept, len(text)-kept, text[kept:])
	}
	decoded.text = b.String()
	return decoded
}

func (v *view) original(start, end int) (from, to int) {
	for ; v != nil; v = v.before {
		first, last := v.piece(start), v.piece(end-1)
		from, to = first.from, last.from+last.width
		if first.size == first.width {
			from = first.from + start - first.at
		}
		if last.size == last.width {
			to = last.from + end - last.at
		}
		start, end = from, to
	}
	return start, end
}

func (v *view) piece(at int) piece {
	i, exact := slices.BinarySearchFunc(v.pieces, at, func(p piece, at int) int { return cmp.Compare(p.at, at) })
	if !exact {
		i--
	}
	return v.pieces[i]
}

func (v *view) same(at int) bool {
	const before, behind = 256, 2048
	p := v.piece(at)
	return p.size == p.width && at-p.at >= before && p.at+p.size-at >= behind
}

const esc = '\x1b'

func nextEscape(text string, i int) int {
	for ; i < len(text); i++ {
		if c := text[i]; c == '\\' || c == esc {
			return i
		}
	}
	return i
}

func decodeEscape(text string, i int) (as string, width int) {
	if text[i] == esc {
		return "", ansiWidth(text[i:])
	}
	rest := text[i+1:]
	if rest == "" {
		return "", 0
	}
	for _, spelling := range [...]string{"x1b", "x1B", "033", "e["} {
		if strings.HasPrefix(rest, spelling) {
			return string(esc), 1 + len(strings.TrimSuffix(spelling, "["))
		}
	}
	if strings.IndexByte(`nrtbf"\/u`, rest[0]) < 0 {
		return "", 0
	}
	r, width := decodeAt(text, i)
	if r == utf8.RuneError {
		return "", 0
	}
	return string(r), width
}

func ansiWidth(text string) int {
	if len(text) < 2 || !isBetween(text[1], '(', '~') {
		return 0
	}
	switch text[1] {
	case '[':
		return colourWidth(text)
	case ']':
		return linkWidth(text)
	case '(', ')': // character sets
		if len(text) > 2 && isBetween(text[2], '0', '~') {
			return 3
		}
		return 0
	}
	return 2
}

func colourWidth(text string) int {
	i := 2
	for i < len(text) && isBetween(text[i], ' ', '?') {
		i++
	}
	if i < len(text) && isBetween(text[i], '@', '~') {
		return i + 1
	}
	return 2
}

func linkWidth(text string) int {
	n := strings.IndexAny(text[2:], "\a\x1b\n")
	if n < 0 {
		return 2
	}
	switch end := text[2+n:]; {
	case end[0] == '\a':
		return 3 + n
	case strings.HasPrefix(end, "\x1b\\"):
		return 4 + n
	}
	return 2
}

func isBetween(c, first, last byte) bool { return first <= c && c <= last }

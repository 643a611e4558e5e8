package redact

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxViews limits how often a text is decoded. Each level of JSON inside of JSON strings needs one
// view, and so do colours inside of JSON.
const maxViews = 6

// view is a text without ANSI sequences and with decoded escapes. Each view decodes the one before
// it, so that rules see the text that a person sees.
type view struct {
	text   string
	pieces []piece // in the order of the text
	before *view   // nil for the first view
}

// piece is a part of a view and of the text before it. Both have the same bytes if the sizes are
// equal. Otherwise the piece is one decoded escape.
type piece struct {
	at, size    int
	from, width int
}

// next decodes text, which is the text of v. It returns nil if nothing changes.
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

// original converts a range of v to a range of the text of the first view.
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

const esc = '\x1b'

func nextEscape(text string, i int) int {
	for ; i < len(text); i++ {
		if c := text[i]; c == '\\' || c == esc {
			return i
		}
	}
	return i
}

// decodeEscape returns the text and the width of the escape at i. The width is 0 if there is none.
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

// ansiWidth returns the width of the ANSI sequence at the start of text, or 0.
func ansiWidth(text string) int {
	if len(text) < 2 {
		return 0
	}
	switch c := text[1]; {
	case c == '[': // colours and the cursor
		i := 2
		for i < len(text) && ' ' <= text[i] && text[i] <= '?' {
			i++
		}
		if i < len(text) && '@' <= text[i] && text[i] <= '~' {
			return i + 1
		}
		return 2
	case c == ']': // titles and links
		i := 2 + strings.IndexAny(text[2:], "\a\x1b\n")
		switch {
		case i >= 2 && text[i] == '\a':
			return i + 1
		case i >= 2 && strings.HasPrefix(text[i:], "\x1b\\"):
			return i + 2
		}
		return 2
	case c == '(' || c == ')': // character sets
		return min(3, len(text))
	case '0' <= c && c <= '~':
		return 2
	}
	return 0
}

package events

import (
	"unicode/utf16"
	"unicode/utf8"
)

func (s *scanner) text() (raw []byte, escaped bool, err error) {
	start := s.pos + 1
	i := start
	for i < len(s.data) {
		c := s.data[i]
		switch {
		case plain[c]:
			i++
		case c == '"':
			s.pos = i + 1
			return s.data[start:i], escaped, nil
		case c == '\\':
			escaped = true
			n, err := s.escape(i)
			if err != nil {
				return nil, false, err
			}
			i += n
		case c < ' ':
			return nil, false, s.failAt(i, "control character in a string")
		default:
			r, size := utf8.DecodeRune(s.data[i:])
			if r == utf8.RuneError && size == 1 {
				return nil, false, s.failAt(i, "not valid UTF-8")
			}
			i += size
		}
	}
	return nil, false, s.failAt(len(s.data), "string without its closing quote")
}

func (s *scanner) escape(i int) (int, error) {
	if i+1 >= len(s.data) {
		return 0, s.failAt(i, "string without its closing quote")
	}
	switch s.data[i+1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2, nil
	case 'u':
	default:
		return 0, s.failAt(i, "unknown escape in a string")
	}
	r, ok := hex4(s.data[i:])
	switch {
	case !ok:
		return 0, s.failAt(i, "\\u without four hex digits")
	case !utf16.IsSurrogate(r):
		return 6, nil
	}
	low, ok := hex4(s.data[i+6:])
	if !ok || utf16.DecodeRune(r, low) == utf8.RuneError {
		return 0, s.failAt(i, "lone surrogate in a string")
	}
	return 12, nil
}

func hex4(b []byte) (rune, bool) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return 0, false
	}
	var r rune
	for _, c := range b[2:6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}

func unescape(raw []byte) []byte { return appendUnescaped(make([]byte, 0, len(raw)), raw) }

func appendUnescaped(out, raw []byte) []byte {
	for i := 0; i < len(raw); {
		if raw[i] != '\\' {
			out = append(out, raw[i])
			i++
			continue
		}
		if raw[i+1] != 'u' {
			out = append(out, unescaped[raw[i+1]])
			i += 2
			continue
		}
		r, _ := hex4(raw[i:])
		i += 6
		if utf16.IsSurrogate(r) {
			low, _ := hex4(raw[i:])
			r = utf16.DecodeRune(r, low)
			i += 6
		}
		out = utf8.AppendRune(out, r)
	}
	return out
}

var unescaped = [256]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

var plain = func() (t [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

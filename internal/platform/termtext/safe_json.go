package termtext

import (
	"bytes"
	"io"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// SafeJSON returns a writer that copies JSON to w and escapes unsafe characters. Each Write must
// end with a whole character.
func SafeJSON(w io.Writer) io.Writer { return safeJSON{w} }

type safeJSON struct{ w io.Writer }

// Write implements [io.Writer]. It needs no JSON parser, because the characters that it escapes can
// only occur in JSON strings.
func (s safeJSON) Write(p []byte) (int, error) {
	done := 0
	var out []byte
	for i := 0; i < len(p); {
		r, size := utf8.DecodeRune(p[i:])
		if unsafeRune(r) {
			out = append(out, p[done:i]...)
			out = appendEscape(out, r)
			done = i + size
		}
		i += size
	}
	if out == nil {
		return s.w.Write(p)
	}
	if _, err := s.w.Write(append(out, p[done:]...)); err != nil {
		return 0, err
	}
	return len(p), nil
}

func appendEscape(out []byte, r rune) []byte {
	if high, low := utf16.EncodeRune(r); high != utf8.RuneError {
		return appendEscape(appendEscape(out, high), low)
	}
	hex := strconv.FormatUint(uint64(r), 16)
	out = append(append(out, `\u`...), bytes.Repeat([]byte("0"), 4-len(hex))...)
	return append(out, hex...)
}

package redact

import (
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A region in the JSON text covers whole escapes, because half an escape is invalid.
func rawRegions(raw string, regions []region) []region {
	list := regions[:0:0]
	at, i := 0, 0 // positions in the decoded text and in raw
	for _, m := range regions {
		for i < len(raw) && at < m.start {
			if at+sizeAt(raw, i) > m.start {
				break
			}
			at, i = at+sizeAt(raw, i), i+writtenAt(raw, i)
		}
		start := i
		for i < len(raw) && at < m.end {
			at, i = at+sizeAt(raw, i), i+writtenAt(raw, i)
		}
		list = append(list, region{start: start, end: i, marker: m.marker})
	}
	return list
}

func writtenAt(raw string, i int) int {
	_, n := decodeAt(raw, i)
	return n
}

func sizeAt(raw string, i int) int {
	r, n := decodeAt(raw, i)
	if r < 0 {
		return n
	}
	return utf8.RuneLen(r)
}

func decodeAt(raw string, i int) (rune, int) {
	if raw[i] != '\\' || i+1 == len(raw) {
		return -1, 1
	}
	if raw[i+1] != 'u' {
		const from, to = `bfnrt`, "\b\f\n\r\t"
		if n := strings.IndexByte(from, raw[i+1]); n >= 0 {
			return rune(to[n]), 2
		}
		return rune(raw[i+1]) & 0x7f, 2
	}
	r, ok := hex4(raw, i+2)
	if !ok {
		return utf8.RuneError, min(6, len(raw)-i)
	}
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if strings.HasPrefix(raw[i+6:], `\u`) {
		if low, ok := hex4(raw, i+8); ok {
			if pair := utf16.DecodeRune(r, low); pair != utf8.RuneError {
				return pair, 12
			}
		}
	}
	return utf8.RuneError, 6
}

func hex4(raw string, i int) (rune, bool) {
	if len(raw) < i+4 {
		return 0, false
	}
	n, err := strconv.ParseUint(raw[i:i+4], 16, 32)
	return rune(n), err == nil && isHex(raw[i:i+4])
}

func unescape(raw string) string {
	if strings.IndexByte(raw, '\\') < 0 {
		return raw
	}
	var b strings.Builder
	b.Grow(len(raw))
	for i := 0; i < len(raw); {
		n := strings.IndexByte(raw[i:], '\\')
		if n < 0 {
			b.WriteString(raw[i:])
			break
		}
		b.WriteString(raw[i : i+n])
		i += n
		r, size := decodeAt(raw, i)
		if r < 0 {
			b.WriteByte(raw[i])
		} else {
			b.WriteRune(r)
		}
		i += size
	}
	return b.String()
}

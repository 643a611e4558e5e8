package events

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"
)

// SetData sets the data of e to payload as compact JSON. Invalid Unicode becomes U+FFFD.
func (e *Event) SetData(payload any) error {
	e.Data, e.Binary = nil, nil
	if payload == nil {
		return nil
	}
	if p, ok := payload.(direct); ok {
		if data, ok := appendDirect(p); ok {
			e.Data = data
			return nil
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(payload); err != nil {
		return fmt.Errorf("encode data of %s: %w", e.Type, err)
	}
	e.Data = wellFormed(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
	return nil
}

// wellFormed replaces invalid UTF-8 and lone surrogates, because encoding/json keeps both in a
// [json.RawMessage].
func wellFormed(data []byte) []byte {
	s := scanner{data: data}
	if s.value(1) == nil {
		return data
	}
	out := make([]byte, 0, len(data)+16)
	for i := 0; i < len(data); {
		n := 1
		switch c := data[i]; {
		case c == '\\' && data[i+1] == 'u':
			n = 6
			r, _ := hex4(data[i:])
			low, _ := hex4(data[i+6:])
			switch {
			case !utf16.IsSurrogate(r):
			case utf16.DecodeRune(r, low) != utf8.RuneError:
				n = 12
			default:
				out = append(out, `\ufffd`...)
				i += n
				continue
			}
		case c == '\\':
			n = 2
		case c >= utf8.RuneSelf:
			r, size := utf8.DecodeRune(data[i:])
			out = utf8.AppendRune(out, r)
			i += size
			continue
		}
		out = append(out, data[i:i+n]...)
		i += n
	}
	return out
}

func compact(data []byte) []byte {
	var b bytes.Buffer
	b.Grow(len(data))
	if json.Compact(&b, data) != nil {
		return data // unreachable, because the scanner is stricter
	}
	return b.Bytes()
}

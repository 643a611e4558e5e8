package events

import (
	"bytes"
	"encoding/json"
)

const (
	maxListed   = 2000     // more than package redact lists
	maxMetadata = 2000     // values at all depths
	smallData   = 16 << 10 // too small for long lists
)

// withShortLists shortens long lists of small elements, because such lists need much more memory
// than their JSON text.
func withShortLists(data json.RawMessage) json.RawMessage {
	if len(data) <= smallData {
		return data
	}
	var out []byte
	copied, values := 0, maxMetadata // all metadata of the payload share the limit
	s := scanner{data: data}
	err := s.object(func(name []byte) error {
		s.peek()
		start := s.pos
		if err := s.value(1); err != nil {
			return err
		}
		var short json.RawMessage
		switch {
		case bytes.EqualFold(name, []byte("executions")), bytes.EqualFold(name, []byte("redacted")):
			short = shortList(data[start:s.pos])
		case bytes.EqualFold(name, []byte("metadata")):
			short = shortMembers(data[start:s.pos], &values)
		}
		if short != nil {
			out = append(append(out, data[copied:start]...), short...)
			copied = s.pos
		}
		return nil
	})
	if err != nil || copied == 0 {
		return data
	}
	return append(out, data[copied:]...)
}

func shortList(list json.RawMessage) json.RawMessage {
	n, short := 0, []byte{'['}
	for x := range Elements(list) {
		if n++; n > maxListed {
			return append(short, ']')
		}
		if n > 1 {
			short = append(short, ',')
		}
		short = append(short, x...)
	}
	return nil
}

func shortMembers(object json.RawMessage, left *int) json.RawMessage {
	s, short, from, isCut := scanner{data: object}, []byte{'{'}, 0, false
	err := s.object(func([]byte) error {
		s.peek()
		start := s.pos
		if err := s.value(1); err != nil {
			return err
		}
		name := bytes.TrimLeft(object[from:start], " \t\r\n{,")
		from = s.pos
		n := countValues(object[start:s.pos])
		if n > *left {
			isCut = true
			return nil
		}
		*left -= n
		if len(short) > 1 {
			short = append(short, ',')
		}
		short = append(append(short, name...), object[start:s.pos]...)
		return nil
	})
	if err != nil || !isCut {
		return nil
	}
	return append(short, '}')
}

func countValues(value json.RawMessage) (n int) {
	n = 1
	inText := false
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case !inText && (c == ',' || c == '[' || c == '{'):
			n++
		}
	}
	return n
}

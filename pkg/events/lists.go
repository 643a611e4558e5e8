package events

import (
	"bytes"
	"encoding/json"
)

const (
	maxListed = 2000     // more than package redact lists
	smallData = 16 << 10 // too small for long lists
)

func withShortLists(data json.RawMessage) json.RawMessage {
	if len(data) <= smallData {
		return data
	}
	var out []byte
	copied := 0
	s := scanner{data: data}
	err := s.object(func(name []byte) error {
		s.peek()
		start := s.pos
		if err := s.value(1); err != nil {
			return err
		}
		if !bytes.EqualFold(name, []byte("executions")) && !bytes.EqualFold(name, []byte("redacted")) {
			return nil
		}
		if short := shortList(data[start:s.pos]); short != nil {
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

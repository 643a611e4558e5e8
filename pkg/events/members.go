package events

import (
	"bytes"
	"encoding/json"
	"iter"
	"strings"
)

// Members yields the members of a JSON object in their order, with repeated names. Values share
// memory with data. Invalid JSON ends the loop.
func Members(data json.RawMessage) iter.Seq2[string, json.RawMessage] {
	return func(yield func(string, json.RawMessage) bool) {
		s := scanner{data: data}
		_ = s.object(func(name []byte) error { // an error ends the loop
			s.peek()
			start := s.pos
			if err := s.value(1); err != nil {
				return err
			}
			if !yield(string(name), s.data[start:s.pos:s.pos]) {
				return s.fail("not read further")
			}
			return nil
		})
	}
}

// Elements yields the values of a JSON array, which share memory with data. Invalid JSON ends the
// loop.
func Elements(data json.RawMessage) iter.Seq[json.RawMessage] {
	return func(yield func(json.RawMessage) bool) {
		s := scanner{data: data}
		if s.take('[') != nil || s.peek() == ']' {
			return
		}
		for {
			s.peek()
			start := s.pos
			if s.value(1) != nil || !yield(s.data[start:s.pos:s.pos]) {
				return
			}
			if done, err := s.next(']'); done || err != nil {
				return
			}
		}
	}
}

// SameEscapes returns data with only the escapes that JSON requires. Texts that differ only in
// escapes then have the same bytes. If data contains no escapes, SameEscapes returns data itself.
func SameEscapes(data json.RawMessage) json.RawMessage {
	if bytes.IndexByte(data, '\\') < 0 {
		return data
	}
	s, out := scanner{data: data}, make([]byte, 0, len(data))
	var text []byte
	for s.pos < len(data) {
		start := s.pos
		if data[start] != '"' {
			s.pos++
			out = append(out, data[start])
			continue
		}
		raw, escaped, err := s.text()
		switch {
		case err != nil:
			return data
		case escaped:
			text = appendUnescaped(text[:0], raw)
			out = appendString(out, string(text))
		default:
			out = append(out, data[start:s.pos]...)
		}
	}
	return out
}

// TextOf returns the string that value encodes, or false if value is no string. The value must be
// valid JSON without white space around it.
func TextOf(value json.RawMessage) (text string, ok bool) {
	raw, ok := unquoted(value)
	return string(raw), ok
}

func unquoted(value json.RawMessage) (text []byte, ok bool) {
	if len(value) < 2 || value[0] != '"' {
		return nil, false
	}
	text = value[1 : len(value)-1]
	if bytes.IndexByte(text, '\\') >= 0 {
		text = unescape(text)
	}
	return text, true
}

// Denies reports whether e denies its action. It returns true if any member "verdict" of e.Data is
// "deny", even if e.Data has several such members. The case of letters does not matter.
func (e Event) Denies() bool { return says(e.Data, "verdict", string(VerdictDeny)) }

// DeniesCall reports whether e denies its tool call, in any form that [Event.Denies] finds.
func (e Event) DeniesCall() bool {
	k := e.Kind()
	return (k == ToolBefore || k == Approval) && e.Denies()
}

// CallSucceeded reports whether e is a tool result whose member "status" is "success". If e.Data
// has several such members, one of them is enough. The case of letters does not matter.
func (e Event) CallSucceeded() bool {
	return e.Kind() == ToolResult && says(e.Data, "status", string(ToolSuccess))
}

func says(data json.RawMessage, name, value string) bool {
	if !containsFold(data, value) && !bytes.Contains(data, []byte(`\u`)) {
		return false // most payloads need no reading
	}
	found := false
	s := scanner{data: data}
	_ = s.object(func(n []byte) error { // an error ends the loop
		s.peek()
		start := s.pos
		if err := s.value(1); err != nil {
			return err
		}
		if len(n) >= len(name) && bytes.EqualFold(n, []byte(name)) {
			if text, _ := unquoted(s.data[start:s.pos]); len(text) == len(value) && strings.EqualFold(string(text), value) {
				found = true
				return s.fail("found")
			}
		}
		return nil
	})
	return found
}

func containsFold(data []byte, text string) bool {
	letters := text[:1] + strings.ToUpper(text[:1])
	for {
		i := bytes.IndexAny(data, letters)
		if i < 0 || len(data)-i < len(text) {
			return false
		}
		if bytes.EqualFold(data[i:i+len(text)], []byte(text)) {
			return true
		}
		data = data[i+1:]
	}
}

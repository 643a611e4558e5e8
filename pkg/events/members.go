package events

import (
	"bytes"
	"encoding/json"
	"iter"
	"strings"
)

// Members yields the names and values of the top-level members of a JSON object, in their order and
// with repeated names. The values are verbatim JSON and share memory with data. Members yields
// nothing for other JSON, and stops at invalid JSON.
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

// textOf returns the string that value encodes. ok is false if value is not a string.
func textOf(value json.RawMessage) (text string, ok bool) {
	if len(value) < 2 || value[0] != '"' {
		return "", false
	}
	raw := value[1 : len(value)-1]
	if bytes.IndexByte(raw, '\\') >= 0 {
		raw = unescape(raw)
	}
	return string(raw), true
}

// Denies reports whether e denies the action that it is about. A member "verdict" with the value
// "deny" is enough. The case of its name, its repetitions and all other members do not matter, so
// no form of the payload hides a denial.
func (e Event) Denies() bool { return says(e.Data, "verdict", string(VerdictDeny)) }

// DeniesCall reports whether e denies its tool call, in any form that [Event.Denies] finds.
func (e Event) DeniesCall() bool {
	k := e.Kind()
	return (k == ToolBefore || k == Approval) && e.Denies()
}

// CallSucceeded reports whether e is a successful result of its tool call. It reads the member
// "status" as tolerantly as [Event.Denies] does, so that no spelling hides a success.
func (e Event) CallSucceeded() bool {
	return e.Kind() == ToolResult && says(e.Data, "status", string(ToolSuccess))
}

// says reports whether a member of data with this name, in any case, has this value.
func says(data json.RawMessage, name, value string) bool {
	if !bytes.Contains(data, []byte(value)) && !bytes.Contains(data, []byte(`\u`)) {
		return false // most payloads need no reading
	}
	for n, v := range Members(data) {
		if len(n) >= len(name) && strings.EqualFold(n, name) {
			if text, _ := textOf(v); text == value {
				return true
			}
		}
	}
	return false
}

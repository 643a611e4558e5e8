package events

import (
	"bytes"
	"encoding/json"
	"iter"
	"strings"
)

// Members yields the members of a JSON object in their order, with repeated names. Values share
// memory with data. Other JSON yields nothing, and invalid JSON ends the loop.
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

// Denies reports whether e denies its action. Any member "verdict" with the value "deny" is enough,
// even beside others, so that no payload hides a denial.
func (e Event) Denies() bool { return says(e.Data, "verdict", string(VerdictDeny)) }

// DeniesCall reports whether e denies its tool call, in any form that [Event.Denies] finds.
func (e Event) DeniesCall() bool {
	k := e.Kind()
	return (k == ToolBefore || k == Approval) && e.Denies()
}

// CallSucceeded reports whether e is a successful tool result. Any member "status" with the value
// "success" is enough.
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

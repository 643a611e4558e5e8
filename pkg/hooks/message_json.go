package hooks

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Message is a stored message. Members that no field holds stay in Raw.
type Message struct {
	ID         string  `json:"id"`
	Role       string  `json:"role"` // system, user, assistant or tool
	Content    *string `json:"content"`
	Name       string  `json:"name,omitempty"`
	ToolCalls  string  `json:"tool_calls,omitempty"` // JSON in a string
	ToolCallID string  `json:"tool_call_id,omitempty"`
	CreatedAt  int64   `json:"created_at"`
	ParentID   string  `json:"parent_id,omitempty"`
	Depth      int     `json:"depth,omitempty"`

	Parts JSON `json:"-"` // content that is not text, such as a list of parts, if Content is nil
	Raw   JSON `json:"-"` // the message as it was read. Its members stay unless a field has changed
}

// LLMMessage is a message in a request to a model. Members that no field holds stay in Raw.
type LLMMessage struct {
	Role       string  `json:"role"`
	Content    *string `json:"content"`
	ToolCalls  JSON    `json:"tool_calls,omitempty"`
	ToolCallID string  `json:"tool_call_id,omitempty"`
	Name       string  `json:"name,omitempty"`

	Parts JSON `json:"-"` // content that is not text, such as a list of parts, if Content is nil
	Raw   JSON `json:"-"` // the message as it was read. Its members stay unless a field has changed
}

// These types have the fields of messages without their methods.
type (
	plainMessage    Message
	plainLLMMessage LLMMessage
)

func (m Message) known() (JSON, error) { return known(plainMessage(m), m.Content, m.Parts) }

func (m LLMMessage) known() (JSON, error) { return known(plainLLMMessage(m), m.Content, m.Parts) }

// UnmarshalJSON reads a JSON object. A member of an unexpected type is only in Raw.
func (m *Message) UnmarshalJSON(data []byte) error {
	var p plainMessage
	if err := readMessage(data, &p); err != nil {
		return err
	}
	p.Raw, p.Parts = JSON(data), splitContent(JSON(data), &p.Content)
	*m = Message(p)
	return nil
}

// MarshalJSON returns Raw with the changed fields, or only the fields if Raw is empty.
func (m Message) MarshalJSON() ([]byte, error) { return writeMessage(m.Raw, m, &Message{}) }

// UnmarshalJSON reads a JSON object. A member of an unexpected type is only in Raw.
func (m *LLMMessage) UnmarshalJSON(data []byte) error {
	var p plainLLMMessage
	if err := readMessage(data, &p); err != nil {
		return err
	}
	p.Raw, p.Parts = JSON(data), splitContent(JSON(data), &p.Content)
	*m = LLMMessage(p)
	return nil
}

// MarshalJSON returns Raw with the changed fields, or only the fields if Raw is empty.
func (m LLMMessage) MarshalJSON() ([]byte, error) { return writeMessage(m.Raw, m, &LLMMessage{}) }

func readMessage(data []byte, plain any) error {
	err := json.Unmarshal(data, plain)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && wrong.Field != "" {
		err = nil // the other members have been read
	}
	if c := cursor(data); err != nil || !c.take('{') {
		return fmt.Errorf("decode message: %w", errNoObject)
	}
	return nil
}

// splitContent returns the content if it is neither text nor null, and sets text to nil then.
func splitContent(raw JSON, text **string) (parts JSON) {
	for c := raw.members(); c.more(); {
		if name, value := c.member(); sameText(name, "content") {
			parts = JSON(value)
		}
	}
	if parts == "" || parts == "null" || parts[0] == '"' {
		return ""
	}
	*text = nil // the decoder made it empty instead
	return parts
}

// known returns the fields of a message as an object.
func known(plain any, text *string, parts JSON) (JSON, error) {
	object, err := Marshal(plain)
	if err != nil || text != nil || parts == "" {
		return object, err
	}
	return object.with(map[string]json.RawMessage{"content": parts.Raw()})
}

func writeMessage(raw JSON, m interface{ known() (JSON, error) }, was interface {
	json.Unmarshaler
	known() (JSON, error)
},
) ([]byte, error) {
	after, err := m.known()
	if err != nil || raw == "" {
		return []byte(after), err
	}
	if err := was.UnmarshalJSON([]byte(raw)); err != nil {
		return nil, err
	}
	before, err := was.known()
	if err != nil || before == after {
		return []byte(raw), err
	}
	var old, now map[string]json.RawMessage
	if err := errors.Join(before.Decode(&old), after.Decode(&now)); err != nil {
		return nil, err
	}
	changed := map[string]json.RawMessage{}
	for name := range old {
		changed[name] = nil
	}
	for name, value := range now {
		changed[name] = value
		if string(old[name]) == string(value) {
			delete(changed, name)
		}
	}
	out, err := raw.with(changed)
	return []byte(out), err
}

// with returns the object j with other values for some members. A nil value removes the member. The
// order and the text of the other members stay.
func (j JSON) with(changed map[string]json.RawMessage) (JSON, error) {
	var b strings.Builder
	add := func(quoted, value string) {
		if b.Len() > 0 {
			b.WriteByte(',')
		}
		b.WriteString(quoted + ":" + value)
	}
	left := maps.Clone(changed)
	for c := j.members(); c.more(); {
		quoted, value := c.member()
		name, _ := textOf(quoted)
		now, ok := changed[name]
		if _, first := left[name]; ok && now != nil && first {
			add(quoted, string(now))
		} else if !ok {
			add(quoted, value)
		}
		delete(left, name)
	}
	for _, name := range slices.Sorted(maps.Keys(left)) {
		quoted, err := Marshal(name)
		if err != nil {
			return "", err
		}
		if left[name] != nil {
			add(string(quoted), string(left[name]))
		}
	}
	return JSON("{" + b.String() + "}"), nil
}

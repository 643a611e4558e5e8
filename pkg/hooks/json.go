package hooks

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// JSON is a JSON document as text, which may be invalid. It is immutable, so hooks can share it. An
// empty JSON is no document.
type JSON string

// Marshal encodes v as JSON. Unlike [json.Marshal], it does not escape characters such as "<".
func Marshal(v any) (JSON, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", fmt.Errorf("encode %T: %w", v, err)
	}
	return JSON(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// FromRaw returns a copy of raw. It does not validate raw.
func FromRaw(raw json.RawMessage) JSON { return JSON(raw) }

// Raw returns a copy of j, or nil if j is empty.
func (j JSON) Raw() json.RawMessage {
	if j == "" {
		return nil
	}
	return json.RawMessage(j)
}

// Valid reports whether j is one well-formed JSON value.
func (j JSON) Valid() bool {
	// IsData and json.Valid only read data, so no copy is needed. IsData is faster but stricter.
	data := unsafe.Slice(unsafe.StringData(string(j)), len(j)) //nolint:gosec // see above
	return events.IsData(data) || json.Valid(data)
}

// Decode decodes j into v like [json.Unmarshal]. Errors contain no text of j.
func (j JSON) Decode(v any) error {
	if err := json.Unmarshal([]byte(j), v); err != nil {
		return fmt.Errorf("decode %T: %w", v, Fault("not the JSON that is wanted"))
	}
	return nil
}

// Map decodes a JSON object into a new map. Numbers become float64.
func (j JSON) Map() (map[string]any, error) {
	var m map[string]any
	if err := j.Decode(&m); err != nil {
		return nil, err
	}
	return m, nil
}

// MarshalJSON returns j, or null if j is empty.
func (j JSON) MarshalJSON() ([]byte, error) {
	if j == "" {
		return []byte("null"), nil
	}
	return []byte(j), nil
}

// UnmarshalJSON sets j to a copy of data. If data is null, j becomes empty.
func (j *JSON) UnmarshalJSON(data []byte) error {
	*j = ""
	if string(data) != "null" {
		*j = JSON(data)
	}
	return nil
}

// Text returns the value of the member key, if it is a string. If the object has several members
// with this name, the last one counts.
func (j JSON) Text(key string) (string, bool) {
	text, found := "", false
	for c := j.members(); c.more(); {
		if name, value := c.member(); sameText(name, key) {
			text, found = textOf(value)
		}
	}
	return text, found
}

// Texts returns the string values of an object's wanted members, in the order of the text.
func (j JSON) Texts(wanted func(name string) bool) []string {
	var texts []string
	for c := j.members(); c.more(); {
		quoted, value := c.member()
		name, _ := textOf(quoted)
		if !wanted(name) {
			continue
		}
		if text, ok := textOf(value); ok {
			texts = append(texts, text)
		}
	}
	return texts
}

type cursor string

func (j JSON) members() cursor {
	c := cursor(j)
	if !j.Valid() || !c.take('{') {
		return ""
	}
	return c
}

func (c *cursor) more() bool { return *c != "" && !c.take('}') }

func (c *cursor) member() (name, value string) {
	name = c.next()
	c.take(':')
	value = c.next()
	c.take(',')
	return name, value
}

func (c *cursor) space() { *c = cursor(strings.TrimLeft(string(*c), " \t\r\n")) }

func (c *cursor) take(b byte) bool {
	c.space()
	if len(*c) == 0 || (*c)[0] != b {
		return false
	}
	*c = (*c)[1:]
	c.space()
	return true
}

func (c *cursor) next() string {
	s := string(*c)
	end := strings.IndexAny(s, ",:}] \t\r\n") // the end of a number, true, false or null
	switch {
	case strings.HasPrefix(s, `"`):
		end = endOfText(s)
	case strings.HasPrefix(s, "{"), strings.HasPrefix(s, "["):
		end = endOfNested(s)
	case end < 0:
		end = len(s)
	}
	*c = cursor(s[end:])
	return s[:end]
}

func endOfText(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}

func endOfNested(s string) int {
	depth := 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '"':
			i += endOfText(s[i:]) - 1
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return len(s)
}

func sameText(quoted, s string) bool {
	if len(quoted) < 2 {
		return false
	}
	if quoted[1:len(quoted)-1] == s && plainText(s) {
		return true
	}
	text, ok := textOf(quoted)
	return ok && text == s
}

func textOf(value string) (string, bool) {
	if len(value) < 2 || value[0] != '"' {
		return "", false
	}
	if inner := value[1 : len(value)-1]; plainText(inner) {
		return inner, true
	}
	var text string
	if json.Unmarshal([]byte(value), &text) != nil {
		return "", false
	}
	return text, true
}

func plainText(s string) bool {
	return strings.IndexByte(s, '\\') < 0 && utf8.ValidString(s)
}

func mergeObjects(base, more JSON) (JSON, error) {
	if more == "" {
		return base, nil
	}
	a, b := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	if base != "" {
		if err := base.Decode(&a); err != nil {
			return "", err
		}
	}
	if err := more.Decode(&b); err != nil {
		return "", err
	}
	if a == nil || b == nil { // null is not an object
		return "", errNoObject
	}
	maps.Copy(a, b)
	return Marshal(a)
}

func mergeBoth(a, b *JSON, more JSON) error {
	mergedA, err := mergeObjects(*a, more)
	if err != nil {
		return err
	}
	mergedB, err := mergeObjects(*b, more)
	if err == nil {
		*a, *b = mergedA, mergedB
	}
	return err
}

const errNoObject = Fault("not an object")

func membersOf(object JSON) []string {
	var m map[string]json.RawMessage
	if object == "" || object.Decode(&m) != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(m))
}

func sameJSON(a, b JSON) bool { return a == b }

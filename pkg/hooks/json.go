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

// JSON is a JSON document that nobody can change: hooks share it without
// copies. The empty JSON is no document. A JSON that was converted from a
// string, or came through [FromRaw], may hold anything; [JSON.Decode] tells.
type JSON string

// Marshal returns v as a document, with characters such as "<" as themselves.
func Marshal(v any) (JSON, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", fmt.Errorf("encode %T: %w", v, err)
	}
	return JSON(bytes.TrimSuffix(b.Bytes(), []byte("\n"))), nil
}

// FromRaw returns a copy of raw as a document. It does not look inside.
func FromRaw(raw json.RawMessage) JSON { return JSON(raw) }

// Raw returns a copy of j, nil for no document.
func (j JSON) Raw() json.RawMessage {
	if j == "" {
		return nil
	}
	return json.RawMessage(j)
}

// Valid tells whether j is one well-formed JSON value.
func (j JSON) Valid() bool {
	// No copy: both only read. The first is fast, and strict about Unicode.
	data := unsafe.Slice(unsafe.StringData(string(j)), len(j)) //nolint:gosec // see above
	return events.IsData(data) || json.Valid(data)
}

// Decode decodes j into v as [json.Unmarshal] does. Its error never holds text
// of j.
func (j JSON) Decode(v any) error {
	if err := json.Unmarshal([]byte(j), v); err != nil {
		return fmt.Errorf("decode %T: %w", v, Fault("not the JSON that is wanted"))
	}
	return nil
}

// Map returns the object that j is, a fresh copy; numbers are float64.
func (j JSON) Map() (map[string]any, error) {
	var m map[string]any
	if err := j.Decode(&m); err != nil {
		return nil, err
	}
	return m, nil
}

// MarshalJSON returns j itself, null for no document.
func (j JSON) MarshalJSON() ([]byte, error) {
	if j == "" {
		return []byte("null"), nil
	}
	return []byte(j), nil
}

// UnmarshalJSON keeps a copy of data, no document for null.
func (j *JSON) UnmarshalJSON(data []byte) error {
	*j = ""
	if string(data) != "null" {
		*j = JSON(data)
	}
	return nil
}

// Text returns the string that is the member key of the object j, of several
// members of that name the last, as [JSON.Map] does. It returns false
// if there is none or it is no string, or j is not valid JSON. It allocates
// nothing, unless the string has escapes.
func (j JSON) Text(key string) (string, bool) {
	if !j.Valid() {
		return "", false
	}
	c := cursor(j)
	if !c.take('{') {
		return "", false
	}
	text, found := "", false
	for !c.take('}') {
		name := c.next()
		c.take(':')
		value := c.next()
		c.take(',')
		if sameText(name, key) {
			text, found = textOf(value)
		}
	}
	return text, found
}

// Texts returns the strings among the members of the object j whose names are
// wanted, in their order; of several members of one name all. There are none if j
// is not valid JSON.
func (j JSON) Texts(applies func(name string) bool) []string {
	if !j.Valid() {
		return nil
	}
	c := cursor(j)
	if !c.take('{') {
		return nil
	}
	var texts []string
	for !c.take('}') {
		name, _ := textOf(c.next())
		c.take(':')
		value := c.next()
		c.take(',')
		if !applies(name) {
			continue
		}
		if text, ok := textOf(value); ok {
			texts = append(texts, text)
		}
	}
	return texts
}

// cursor is the rest of a valid JSON document.
type cursor string

func (c *cursor) space() { *c = cursor(strings.TrimLeft(string(*c), " \t\r\n")) }

// take skips a byte if it comes next, with the white space around it.
func (c *cursor) take(b byte) bool {
	c.space()
	if len(*c) == 0 || (*c)[0] != b {
		return false
	}
	*c = (*c)[1:]
	c.space()
	return true
}

// next returns the value that comes next and skips it.
func (c *cursor) next() string {
	s := string(*c)
	end := strings.IndexAny(s, ",:}] \t\r\n") // of a number or a name
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

// endOfText returns where the string ends that s begins with.
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

// endOfNested returns where the object or array ends that s begins with.
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

// sameText tells whether a JSON string is s.
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

// textOf returns the text of a JSON string, false for another value.
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

// plainText tells whether s stands for itself: well-formed UTF-8 without
// escapes.
func plainText(s string) bool {
	return strings.IndexByte(s, '\\') < 0 && utf8.ValidString(s)
}

// mergeObjects returns the object base with the members of more, which win. An
// absent document is an empty object.
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
	if a == nil || b == nil { // null
		return "", errNoObject
	}
	maps.Copy(a, b)
	return Marshal(a)
}

const errNoObject = Fault("not an object")

// membersOf returns the names of the members of an object, sorted.
func membersOf(object JSON) []string {
	var m map[string]json.RawMessage
	if object == "" || object.Decode(&m) != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(m))
}

// sameJSON tells whether two documents are equal byte by byte.
func sameJSON(a, b JSON) bool { return a == b }

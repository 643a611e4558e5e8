package hooks

import (
	"encoding/json"
	"strings"
	"unicode/utf8"
)

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
func (j JSON) Texts(wanted func(name string) bool) []string {
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
		if !wanted(name) {
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

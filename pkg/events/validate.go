package events

import (
	"strconv"
	"unicode/utf8"
)

// Validate returns an [InvalidError] that names the first attribute of e that
// cannot be published.
func (e Event) Validate() error {
	for _, name := range attributeNames {
		value := e.field(name)
		if value == nil {
			continue
		}
		if reason := textFault(*value); reason != "" {
			return invalid(name, reason)
		}
	}
	switch {
	case e.ID == "":
		return invalid("id", "missing")
	case e.Source == "":
		return invalid("source", "missing")
	case e.Type == "":
		return invalid("type", "missing")
	}
	return nil
}

// textFault returns what CloudEvents forbids in s, empty when nothing is wrong.
func textFault(s string) string {
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < 0x7f {
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			return "not valid UTF-8 at byte " + strconv.Itoa(i) + " of the value"
		case r < ' ' || 0x7f <= r && r <= 0x9f:
			return "control character at byte " + strconv.Itoa(i) + " of the value"
		}
		i += size
	}
	return ""
}

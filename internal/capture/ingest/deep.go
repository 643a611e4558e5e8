package ingest

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/events"
)

func flattenDeep(e *events.Event, err error) bool {
	invalid, ok := errors.AsType[*events.InvalidError](err)
	if !ok || !strings.Contains(invalid.Reason, "nested more than ") {
		return false
	}
	var flat Object
	for _, m := range orderedMembers(e.Data) {
		if depthOf(m.value) > maxNesting {
			m.value = JSON(string(m.value))
		}
		flat.Add(m.name, m.value)
	}
	e.Data = flat.JSON()
	return e.Validate() == nil
}

const maxNesting = 500

type member struct {
	name  string
	value json.RawMessage
}

func orderedMembers(object []byte) (list []member) {
	in := json.NewDecoder(strings.NewReader(string(object)))
	if token, err := in.Token(); err != nil || token != json.Delim('{') {
		return nil
	}
	for in.More() {
		token, err := in.Token()
		name, isName := token.(string)
		var value json.RawMessage
		if err != nil || !isName || in.Decode(&value) != nil {
			return nil
		}
		list = append(list, member{name, value})
	}
	return list
}

func depthOf(value []byte) (deepest int) {
	depth, quoted := 0, false
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}

package ingest

import (
	"bytes"
	"encoding/json"
	"iter"
	"slices"
)

// HeadBytes is how many bytes at the start of an input are used to detect its format.
const HeadBytes = 64 << 10

// HeadObjects yields the JSON objects in the lines of head. The last object may be incomplete.
func HeadObjects(head []byte) iter.Seq[map[string]json.RawMessage] {
	return func(yield func(map[string]json.RawMessage) bool) {
		for line := range bytes.Lines(bytes.TrimPrefix(head, []byte("\uFEFF"))) {
			if bytes.IndexByte(line, '{') < 0 {
				continue
			}
			if object := Members(line); len(object) > 0 && !yield(object) {
				return
			}
		}
	}
}

// Has reports whether an object has members with all the given names. Their values may be empty.
func Has(members map[string]json.RawMessage, names ...string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { _, ok := members[name]; return !ok })
}

// Members returns the members of a JSON object whose end may be missing. The last member may then
// have no value.
func Members(head []byte) map[string]json.RawMessage {
	object := map[string]json.RawMessage{}
	in := json.NewDecoder(bytes.NewReader(head))
	if token, err := in.Token(); err != nil || token != json.Delim('{') {
		return object
	}
	for in.More() {
		token, err := in.Token()
		name, isName := token.(string)
		if err != nil || !isName {
			break
		}
		var value json.RawMessage
		err = in.Decode(&value)
		object[name] = value
		if err != nil {
			break
		}
	}
	return object
}

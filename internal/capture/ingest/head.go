package ingest

import (
	"bytes"
	"encoding/json"
	"iter"
)

// HeadBytes is how much of the beginning of an input a format is detected by.
const HeadBytes = 64 << 10

// HeadObjects yields the JSON objects at the beginning of an input of lines, as
// far as head holds them whole: what tells one format from another. Lines that
// are no objects are left out. Of a last line that head cuts off, the members
// that it holds come as the object.
func HeadObjects(head []byte) iter.Seq[map[string]json.RawMessage] {
	return func(yield func(map[string]json.RawMessage) bool) {
		for line := range bytes.Lines(bytes.TrimPrefix(head, []byte("\uFEFF"))) {
			if bytes.IndexByte(line, '{') < 0 {
				continue
			}
			object := Members(line)
			if len(object) > 0 && !yield(object) {
				return
			}
		}
	}
}

// Members returns the members of the JSON object that head begins with, as far
// as head holds them; of a member that is cut off it has the name, and no value.
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
			return object
		}
		var value json.RawMessage
		err = in.Decode(&value)
		object[name] = value
		if err != nil {
			return object
		}
	}
	return object
}

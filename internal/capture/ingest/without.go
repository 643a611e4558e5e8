package ingest

import (
	"bytes"
	"encoding/json"
	"slices"
)

// Without returns a copy of a JSON object without the members in mapped, which the caller stores in
// other fields of the event. It returns nil if no member is left.
func Without(object json.RawMessage, mapped ...string) json.RawMessage {
	in := json.NewDecoder(bytes.NewReader(object))
	if token, err := in.Token(); err != nil || token != json.Delim('{') {
		return object
	}
	left := []byte{'{'}
	for in.More() {
		token, err := in.Token()
		name, isName := token.(string)
		var value json.RawMessage
		if err != nil || !isName || in.Decode(&value) != nil {
			return object
		}
		if slices.Contains(mapped, name) {
			continue
		}
		key, err := json.Marshal(name)
		if err != nil {
			return object
		}
		if len(left) > 1 {
			left = append(left, ',')
		}
		left = append(append(append(left, key...), ':'), value...)
	}
	if len(left) == 1 {
		return nil
	}
	return append(left, '}')
}

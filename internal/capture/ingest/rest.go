package ingest

import (
	"bytes"
	"encoding/json"
	"slices"
)

// Rest returns the members of object that are not among told: what an event
// keeps in raw, so that nothing of the tool's own JSON is lost and nothing is
// kept twice. They stay as they are and in their order. Where none are left, it
// returns nil; what is no object is returned whole.
func Rest(object json.RawMessage, told ...string) json.RawMessage {
	in := json.NewDecoder(bytes.NewReader(object))
	if token, err := in.Token(); err != nil || token != json.Delim('{') {
		return object
	}
	rest := []byte{'{'}
	for in.More() {
		token, err := in.Token()
		name, isName := token.(string)
		var value json.RawMessage
		if err != nil || !isName || in.Decode(&value) != nil {
			return object
		}
		if slices.Contains(told, name) {
			continue
		}
		key, err := json.Marshal(name)
		if err != nil {
			return object
		}
		if len(rest) > 1 {
			rest = append(rest, ',')
		}
		rest = append(append(append(rest, key...), ':'), value...)
	}
	if len(rest) == 1 {
		return nil
	}
	return append(rest, '}')
}

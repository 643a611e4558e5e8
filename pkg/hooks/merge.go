package hooks

import (
	"encoding/json"
	"maps"
	"slices"
)

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

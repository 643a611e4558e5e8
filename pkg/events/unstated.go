package events

import (
	"encoding/json"
	"strings"
)

// Unstated returns the names of the members of e.Data that its source does not state, which are
// untimed and the estimated cost of a run. Two imports of the same input can differ in them, because
// their versions or prices differ. It leaves out members that JSON libraries could read differently.
func (e Event) Unstated() map[string]bool {
	names := make(map[string]bool)
	if only(e.Data, "untimed", isTrue) {
		names["untimed"] = true
	}
	if e.Kind() == RunFinished && only(e.Data, "cost", isEstimate) {
		names["cost"] = true
	}
	return names
}

func only(object json.RawMessage, name string, accept func(json.RawMessage) bool) bool {
	n, ok := 0, false
	for member, value := range Members(object) {
		if strings.EqualFold(member, name) {
			n, ok = n+1, member == name && accept(value)
		}
	}
	return n == 1 && ok
}

func isTrue(value json.RawMessage) bool { return string(value) == "true" }

func isEstimate(cost json.RawMessage) bool {
	return len(cost) > 0 && cost[0] == '{' && only(cost, "estimated", isTrue)
}

package hookclient

import (
	"cmp"
	"encoding/json"
	"maps"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

var verdictRank = map[hooks.Verdict]int{hooks.Allow: 1, hooks.Ask: 2, hooks.Deny: 3}

// merge combines the outcomes of two chains of hooks. The second chain must run on the call as the
// first chain changed it.
func merge(first, second *hooks.DocumentOutcome) *hooks.DocumentOutcome {
	if first == nil || second == nil {
		return cmp.Or(first, second)
	}
	out := *first
	out.Executions = append(append([]hooks.Execution{}, first.Executions...), second.Executions...)
	if verdictRank[second.Verdict] > verdictRank[first.Verdict] {
		out.Verdict, out.Reason = second.Verdict, second.Reason
	}
	if second.Args != "" {
		out.Args = second.Args
	}
	out.Value = mergeValues(first.Value, second.Value)
	switch {
	case first.Context == "":
		out.Context = second.Context
	case second.Context != "":
		out.Context += "\n\n" + second.Context
	}
	return &out
}

func mergeValues(first, second hooks.JSON) hooks.JSON {
	if first == "" || second == "" {
		return first + second
	}
	var a, b map[string]json.RawMessage
	if first.Decode(&a) != nil || second.Decode(&b) != nil || a == nil || b == nil {
		return second
	}
	maps.Copy(a, b)
	merged, err := hooks.Marshal(a)
	if err != nil {
		return second
	}
	return merged
}

func patched(d hooks.Document, out *hooks.DocumentOutcome) hooks.Document {
	if out == nil {
		return d
	}
	if out.Args != "" {
		d.Args = out.Args
	}
	if d.Point != events.ToolResult || out.Value == "" {
		return d
	}
	var now struct {
		Result json.RawMessage `json:"result"`
		Error  *string         `json:"error"`
	}
	if out.Value.Decode(&now) != nil {
		return d
	}
	if now.Result != nil {
		d.Result = hooks.FromRaw(now.Result)
	}
	if now.Error != nil {
		d.Error = *now.Error
	}
	return d
}

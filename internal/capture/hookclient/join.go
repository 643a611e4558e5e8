package hookclient

import (
	"encoding/json"
	"maps"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// verdictRank orders the verdicts by strength.
var verdictRank = map[hooks.Verdict]int{hooks.Allow: 1, hooks.Ask: 2, hooks.Deny: 3}

// join returns what two chains of hooks said together, the second of which was
// asked about what the first had made of the document. nil said nothing.
func join(first, second *hooks.DocumentOutcome) *hooks.DocumentOutcome {
	if first == nil || second == nil {
		if first == nil {
			return second
		}
		return first
	}
	out := *first
	out.Executions = append(append([]hooks.Execution{}, first.Executions...), second.Executions...)
	if verdictRank[second.Verdict] > verdictRank[first.Verdict] {
		out.Verdict, out.Reason = second.Verdict, second.Reason
	}
	if second.Args != "" {
		out.Args = second.Args
	}
	out.Value = joinValue(first.Value, second.Value)
	switch {
	case first.Context == "":
		out.Context = second.Context
	case second.Context != "":
		out.Context += "\n\n" + second.Context
	}
	return &out
}

// joinValue merges objects, the second of which wins; it takes the second of
// other values.
func joinValue(first, second hooks.JSON) hooks.JSON {
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

// after returns the document as the next chain of hooks is asked about it: with
// the arguments, and the result, that the chain before has put in the place of
// the agent's. What one withholds, the next does not bring back.
func after(d hooks.Document, out *hooks.DocumentOutcome) hooks.Document {
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

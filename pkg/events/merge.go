package events

import (
	"encoding/json"
	"slices"
)

// Hooks, transcripts and telemetry can report the same call. The result must not depend on which
// report arrives first.

var byStrength = []ToolStatus{ToolSuccess, ToolError, ToolInterrupted, ToolDenied}

// Stronger returns the status of a call with two results. Denied is strongest, then interrupted,
// error, success and none.
func (s ToolStatus) Stronger(t ToolStatus) ToolStatus {
	if slices.Index(byStrength, t) > slices.Index(byStrength, s) || s == "" {
		return t
	}
	return s
}

// ToolName chooses the name of a call that two sources name differently.
func ToolName(a, b string) string {
	if a == "" || b != "" && b < a {
		return b
	}
	return a
}

// CallArgs returns the arguments with which the call runs.
func (d ToolBeforeData) CallArgs() json.RawMessage {
	if len(d.PatchedArgs) > 0 {
		return d.PatchedArgs
	}
	return d.Args
}

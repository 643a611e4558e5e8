package events

import (
	"encoding/json"
	"slices"
)

// A call can have several events of one kind, from the hooks of a tool, its transcript and its
// telemetry. The functions below choose between them independently of the order of arrival.

var byStrength = []ToolStatus{ToolSuccess, ToolError, ToolInterrupted, ToolDenied}

// Stronger returns the status of a call with two results. A refusal counts more than an interrupt,
// an interrupt more than an error, and an error more than a success. An empty status counts least.
func (s ToolStatus) Stronger(t ToolStatus) ToolStatus {
	if slices.Index(byStrength, t) > slices.Index(byStrength, s) || s == "" {
		return t
	}
	return s
}

// ToolName returns the name of a call that has two names, which is the first one in the alphabet.
// Hooks call the shell of Codex Bash, and its transcript exec_command.
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

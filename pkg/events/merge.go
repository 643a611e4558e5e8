package events

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"
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

// RunEnd is an end of a run. A run has several if several sources report it, or if it continues.
type RunEnd struct {
	ID     string // of the event
	Source string // of the event
	Time   time.Time
	Data   RunFinishedData
}

// EndsTurn reports whether r ends a turn and the run probably continues. OpenCode ends a run with each
// turn, because it reports no end of a session.
func (r RunEnd) EndsTurn() bool {
	return r.Source == "opencode" && r.Data.Status() == RunUnknown && r.Data.Reason == ReasonIdle
}

// GoesOn reports whether the run continued after r, if its latest event that is neither an end nor a
// custom event has the time active. Events of a turn can arrive after the end of the turn, so they
// do not count.
func (r RunEnd) GoesOn(active time.Time) bool {
	return r.Data.IsPause() && !r.EndsTurn() && active.After(r.Time)
}

// Compare returns a positive number if r counts more than s. An end that a source reports counts more
// than [RunFinishedData.IsEndOfLog]. Otherwise the later end counts, then the stronger status.
func (r RunEnd) Compare(s RunEnd) int {
	a, b := r.Data.Status(), s.Data.Status()
	switch {
	case r.Data.IsEndOfLog() != s.Data.IsEndOfLog():
		if r.Data.IsEndOfLog() {
			return -1
		}
		return 1
	case !r.Time.Equal(s.Time):
		return r.Time.Compare(s.Time)
	case a == b:
		return cmp.Compare(r.ID, s.ID)
	case a.Stronger(b) == a:
		return 1
	}
	return -1
}

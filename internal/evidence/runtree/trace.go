package runtree

import (
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Trace is one run as a person looks at it: its steps, and what happened in
// each. It is what `run show --json` prints; fields are added, never renamed.
type Trace struct {
	Run        string         `json:"run"`
	Tenant     string         `json:"tenant"`
	Source     string         `json:"source"`
	Agent      string         `json:"agent,omitempty"`
	ParentRun  string         `json:"parent_run,omitempty"`
	Version    string         `json:"version,omitempty"` // of the engine
	Model      string         `json:"model,omitempty"`   // of the latest answer
	Cwd        string         `json:"cwd,omitempty"`
	Started    time.Time      `json:"started"`
	Ended      time.Time      `json:"ended"`
	Finished   bool           `json:"finished"`
	Success    bool           `json:"success"`
	Sealed     bool           `json:"sealed"` // everything that its producer sent for it is here
	Events     int            `json:"events"`
	ToolCalls  int            `json:"tool_calls"`
	ToolErrors int            `json:"tool_errors"`
	Denied     int            `json:"denied"`     // tool calls that were not let run
	Unanswered int            `json:"unanswered"` // other tool calls without a result
	Tokens     events.Tokens  `json:"tokens"`
	Steps      []*Step        `json:"steps"`
	Tools      map[string]int `json:"tools"`              // calls by name
	Children   []Trace        `json:"children,omitempty"` // the runs of sub-agents, by their start
}

// Step is one turn of a run.
type Step struct {
	ID         string            `json:"id"`
	Status     events.StepStatus `json:"status"`
	Input      string            `json:"input,omitempty"`
	Output     string            `json:"output,omitempty"`
	Started    time.Time         `json:"started"`
	DurationMS int64             `json:"duration_ms"`
	Tokens     events.Tokens     `json:"tokens"`
	Failure    *events.Failure   `json:"failure,omitempty"`
	Rows       []*Row            `json:"rows"`

	n      int // of the first event that was seen of it
	told   bool
	counts bool // step.finished told the tokens
}

// Row is what happened in a step: a tool call, or one of the rarer things.
type Row struct {
	Kind       events.Kind       `json:"kind"` // tool.before for a call, error, compact.before
	Name       string            `json:"name"`
	Detail     string            `json:"detail,omitempty"`
	Started    time.Time         `json:"started"`
	DurationMS int64             `json:"duration_ms"`
	Status     events.ToolStatus `json:"status,omitempty"` // empty: no result came
	ExitCode   *int              `json:"exit_code,omitempty"`
	Verdict    events.Verdict    `json:"verdict,omitempty"`
	Reason     string            `json:"reason,omitempty"` // of a denial
	Failure    *events.Failure   `json:"failure,omitempty"`
	Run        string            `json:"run,omitempty"` // of the sub-agent that the call started

	n int
}

// Denied tells whether the row is a call that was not let run.
func (r *Row) Denied() bool { return r.Kind == events.ToolBefore && r.Verdict == events.VerdictDeny }

package runtree

import (
	"iter"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// A Trace is a run with its steps. Its fields must never be renamed, because `run show --json`
// prints them.
type Trace struct {
	Run         string           `json:"run"`
	Tenant      string           `json:"tenant"`
	Source      string           `json:"source"` // the agent or engine that sent the run
	Agent       string           `json:"agent,omitempty"`
	ParentRun   string           `json:"parent_run,omitempty"` // run that started this one
	Version     string           `json:"version,omitempty"`    // of the engine
	Model       string           `json:"model,omitempty"`      // of the latest response
	Cwd         string           `json:"cwd,omitempty"`        // working directory
	Branch      string           `json:"branch,omitempty"`     // of git
	User        string           `json:"user,omitempty"`       // of the operating system or the token
	Started     time.Time        `json:"started"`              // first time that the source states, or of the first event if Timeless
	Ended       time.Time        `json:"ended"`                // likewise the last one
	Finished    bool             `json:"finished"`             // the run has a run.finished event, and did not go on after an end by silence
	Success     bool             `json:"success"`              // the run completed
	RunStatus   events.RunStatus `json:"run_status,omitempty"` // completed, failed, interrupted or unknown; absent if the run is not finished
	Sealed      bool             `json:"sealed"`               // run.sealed came after all other events
	Events      int              `json:"events"`
	Removed     int              `json:"removed,omitempty"`    // erased or pruned events; only Events includes them
	RemovedAs   string           `json:"removed_as,omitempty"` // erased or pruned, if the end of the run was removed
	Untimed     int              `json:"untimed,omitempty"`    // events without a time in the source, see [events.Common]
	Timeless    bool             `json:"timeless,omitempty"`   // no event has one, so all times are invented
	ToolCalls   int              `json:"tool_calls"`
	ToolErrors  int              `json:"tool_errors"`    // tool calls that failed
	Denied      int              `json:"denied"`         // tool calls, denied by our hooks or refused by others
	Interrupted int              `json:"interrupted"`    // tool calls that were stopped
	Unanswered  int              `json:"unanswered"`     // other tool calls without a result
	Tokens      events.Tokens    `json:"tokens"`         // 0 also if the source states none
	Cost        *events.Cost     `json:"cost,omitempty"` // absent if unknown
	Steps       []*Step          `json:"steps"`
	Tools       map[string]int   `json:"tools"`              // number of calls by tool
	Children    []Trace          `json:"children,omitempty"` // runs of sub-agents, by start

	DeniedResults int       `json:"denied_results,omitempty"` // denied calls with a successful result
	Altered       []Altered `json:"altered,omitempty"`        // records that differ from their leaves
	Doubts        []Doubt   `json:"doubts,omitempty"`         // records that other writers may have made
	Unchecked     string    `json:"unchecked,omitempty"`      // why Doubts is incomplete

	Integrity string   `json:"integrity,omitempty"` // of the ledger, empty if it was not verified
	Problems  []string `json:"problems,omitempty"`  // the first ones that make the ledger INVALID
}

// The statuses of a [Doubt].
const (
	Foreign      = "FOREIGN"      // the producer's key does not cover the record
	Contradicted = "CONTRADICTED" // another record with this id or number has other content
)

// Doubt describes a record of a run that another sender may have forged in the name of a producer.
type Doubt struct {
	Leaf   int64       `json:"leaf"`
	ID     string      `json:"id"`
	Kind   events.Kind `json:"kind"`
	Status string      `json:"status"`
	Reason string      `json:"reason"`
}

// Altered is a record of a run that differs from its leaf.
type Altered struct {
	Leaf   int64       `json:"leaf"`
	ID     string      `json:"id"`
	Kind   events.Kind `json:"kind"`
	Reason string      `json:"reason"`
}

// All yields the trace and the traces of all sub-agents below it.
func (t Trace) All() iter.Seq[Trace] {
	return func(yield func(Trace) bool) { t.each(yield) }
}

func (t Trace) each(yield func(Trace) bool) bool {
	if !yield(t) {
		return false
	}
	for _, child := range t.Children {
		if !child.each(yield) {
			return false
		}
	}
	return true
}

// A Step is one turn of a run.
type Step struct {
	ID         string            `json:"id"`
	Status     events.StepStatus `json:"status"`
	Input      string            `json:"input,omitempty"`  // the prompt, or a summary
	Output     string            `json:"output,omitempty"` // summary of the answer
	Started    time.Time         `json:"started"`
	DurationMS int64             `json:"duration_ms"`
	Untimed    bool              `json:"untimed,omitempty"` // the source states no time, so Started is invented
	Tokens     events.Tokens     `json:"tokens"`            // 0 also if the source states none
	Failure    *events.Failure   `json:"failure,omitempty"`
	Rows       []*Row            `json:"rows"` // tool calls, errors and other entries, in order

	n        int  // order of its first event, see fact.n
	finished bool // step.finished was seen
	endedAt  time.Time
	counts   bool // step.finished has token counts
}

// A Row is an entry of a step, such as a tool call or an error.
type Row struct {
	// Kind is tool.before for a tool call. Other rows have the kind of their event, such as error.
	Kind       events.Kind       `json:"kind"`
	Name       string            `json:"name"`             // name of the tool, or of the entry
	Detail     string            `json:"detail,omitempty"` // the most telling argument
	Started    time.Time         `json:"started"`
	DurationMS int64             `json:"duration_ms"`
	Untimed    bool              `json:"untimed,omitempty"`   // the source states no time of the call or of its result
	Status     events.ToolStatus `json:"status,omitempty"`    // empty without a result
	ExitCode   *int              `json:"exit_code,omitempty"` // of a command, absent if unknown
	DeniedBy   events.DeniedBy   `json:"denied_by,omitempty"` // source of a refusal that is not of our hooks
	Verdict    events.Verdict    `json:"verdict,omitempty"`   // deny, ask, allow or none, absent if no hook decided
	Hook       string            `json:"hook,omitempty"`      // that denied the call
	Reason     string            `json:"reason,omitempty"`    // of a denial or a question
	Failure    *events.Failure   `json:"failure,omitempty"`
	Run        string            `json:"run,omitempty"`     // of the sub-agent that the call started
	NoRun      bool              `json:"no_run,omitempty"`  // the ledger has no events of Run
	Altered    bool              `json:"altered,omitempty"` // a record of the row differs from its leaf
	Doubt      string            `json:"doubt,omitempty"`   // status of a [Doubt] about a record of the row

	// Undecided means that the hook command let the agent go on without a decision, for example
	// because the publisher hung.
	Undecided bool `json:"undecided,omitempty"`
	// DeniedResult means that a denied call still has a successful result. Either the denial had
	// no effect, or the result is forged.
	DeniedResult bool `json:"denied_result,omitempty"`

	n        int
	start    bool // start of a sub-agent without a call
	answered bool // it has a result
	patched  bool // hooks changed the arguments

	unapproved *call // the answer of hooks to a question; nil if they approved or denied the call
}

// Denied reports whether a hook denied the tool call of the row, or the tool refused to run it.
func (r *Row) Denied() bool {
	return r.Kind == events.ToolBefore && r.Verdict == events.VerdictDeny || r.Status == events.ToolDenied
}

package ledger

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// RunSummary is a summary of the events of a run. If the run has several run.finished events, the
// last one counts.
type RunSummary struct {
	Run       string `json:"run"`
	Tenant    string `json:"tenant"`
	Session   string `json:"session,omitempty"`
	ParentRun string `json:"parent_run,omitempty"`
	Agent     string `json:"agent,omitempty"`
	Source    string `json:"source,omitempty"` // of the first event, such as the name of the agent's program
	User      string `json:"user,omitempty"`
	Title     string `json:"title,omitempty"`
	Prompt    string `json:"prompt,omitempty"` // the beginning of the first one
	Model     string `json:"model,omitempty"`
	Cwd       string `json:"cwd,omitempty"`
	Branch    string `json:"branch,omitempty"` // of git

	State RunState `json:"state"`

	// Started and Ended are the first and the last time in the source of the run. They are absent
	// if the source contains no times.
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
	Untimed int       `json:"untimed,omitempty"` // events without a time in the source, see [events.Common]

	// First is the time of the run's first event that Hooktrail did not write itself. If Started is
	// absent, the import invented this time.
	First time.Time `json:"first,omitzero"`
	Last  time.Time `json:"last,omitzero"` // likewise

	Events  int                 `json:"events"`
	Removed int                 `json:"removed,omitempty"` // erased or pruned events; only Events and Kinds include them
	Kinds   map[events.Kind]int `json:"kinds"`

	Altered int `json:"altered,omitempty"` // records that differ from their leaves, so other fields may be wrong

	Steps map[events.StepStatus]int `json:"steps"` // counts steps by the status of their last step.finished event

	ToolCalls       int            `json:"tool_calls"` // distinct calls
	ToolCallsByName map[string]int `json:"tool_calls_by_name"`
	ToolResults     int            `json:"tool_results"`
	ToolErrors      int            `json:"tool_errors"`
	ToolDenied      int            `json:"tool_denied,omitempty"` // calls that hooks denied or the tool refused
	ToolInterrupted int            `json:"tool_interrupted,omitempty"`
	Unanswered      int            `json:"unanswered"` // calls without a result that hooks did not deny
	Unasked         int            `json:"unasked"`    // results without a call

	Responses int           `json:"responses"` // distinct messages
	Tokens    events.Tokens `json:"tokens"`
	Cost      *events.Cost  `json:"cost,omitempty"` // absent if unknown
	Errors    int           `json:"errors"`

	Subagents []string `json:"subagents,omitempty"` // sorted

	Finished *events.RunFinishedData `json:"finished,omitempty"` // absent if the run goes on after an end by silence
	Sealed   bool                    `json:"sealed"`             // nothing but service records follows the seal
}

// Summary reads the events of a run and summarises them. It returns a [RecordError] if a record was
// altered.
func (r *Reader) Summary(ctx context.Context, run string) (RunSummary, error) {
	s, altered, err := r.summary(ctx, run)
	if err = cmp.Or(err, altered); err != nil {
		return RunSummary{}, err
	}
	return s, nil
}

func (r *Reader) summary(ctx context.Context, run string) (s RunSummary, altered, err error) {
	f := newRunFold(r.Tenant(), run)
	for entry, err := range r.Run(ctx, run) {
		if _, ok := errors.AsType[*RecordError](err); ok {
			altered = cmp.Or(altered, err)
			f.addAltered(entry)
			continue
		}
		if err == nil {
			err = f.addEntry(entry)
		}
		if err != nil {
			return s, altered, err
		}
	}
	return f.summary(), altered, nil
}

// IsServiceRecord reports whether Hooktrail itself writes events of kind k. After the declared end
// of a run, such an event does not reopen the run.
func IsServiceRecord(k events.Kind) bool {
	switch k { //nolint:exhaustive // all other kinds are of agents
	case events.RunSealed, events.GapRecorded, events.IssueDecided, events.IssueEdited,
		events.AuditAccessed, events.ProducerLost, events.ClockTicked:
		return true
	}
	return false
}

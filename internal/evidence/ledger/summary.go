package ledger

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// RunSummary describes a run. If a producer repeats an aggregate such as run.finished, the
// latest one counts.
type RunSummary struct {
	Run       string `json:"run"`
	Tenant    string `json:"tenant"`
	Session   string `json:"session,omitempty"`
	ParentRun string `json:"parent_run,omitempty"`
	Agent     string `json:"agent,omitempty"`
	Title     string `json:"title,omitempty"`
	Model     string `json:"model,omitempty"`

	First time.Time `json:"first"` // the earliest time of an event, without service records
	Last  time.Time `json:"last"`

	Events  int                 `json:"events"`
	Removed int                 `json:"removed,omitempty"` // of them, erased or pruned; their contents do not count below
	Kinds   map[events.Kind]int `json:"kinds"`

	Steps map[events.StepStatus]int `json:"steps"` // by the latest step.finished of each step

	ToolCalls       int            `json:"tool_calls"` // distinct
	ToolCallsByName map[string]int `json:"tool_calls_by_name"`
	ToolResults     int            `json:"tool_results"`
	ToolErrors      int            `json:"tool_errors"`
	Unanswered      int            `json:"unanswered"` // calls without a result
	Unasked         int            `json:"unasked"`    // results without a call

	Responses int           `json:"responses"` // by message id
	Tokens    events.Tokens `json:"tokens"`    // of the responses
	Errors    int           `json:"errors"`    // events of kind error

	Subagents []string `json:"subagents,omitempty"` // sorted

	Finished *events.RunFinishedData `json:"finished,omitempty"`
	Sealed   bool                    `json:"sealed"` // no event follows the seal, except seals and service records
}

// Summary folds the events of a run into a summary.
func (r *Reader) Summary(ctx context.Context, run string) (RunSummary, error) {
	f := NewRunFold(r.Tenant(), run)
	for entry, err := range r.Run(ctx, run) {
		if err != nil {
			return RunSummary{}, err
		}
		if entry.Removal.Done() {
			f.AddRemoved(entry)
			continue
		}
		e, err := events.Decode(entry.Bytes)
		if err != nil {
			return RunSummary{}, fmt.Errorf("leaf %d: %w", entry.Leaf, err)
		}
		if err := f.Add(e); err != nil {
			return RunSummary{}, fmt.Errorf("leaf %d: %w", entry.Leaf, err)
		}
	}
	return f.Summary(), nil
}

// RunFold computes a [RunSummary] from the events of a run, in the order of the ledger.
type RunFold struct {
	sum       RunSummary
	tokens    map[string]events.Tokens     // by message id
	steps     map[string]events.StepStatus // by step id
	calls     map[string]string            // tool by call id
	results   map[string]bool              // whether the call failed, by call id
	anonymous int                          // calls and results without an id
	subagents map[string]bool
}

// NewRunFold returns an empty fold.
func NewRunFold(tenant, run string) *RunFold {
	return &RunFold{
		sum: RunSummary{
			Run: run, Tenant: tenant, Kinds: make(map[events.Kind]int),
			Steps: make(map[events.StepStatus]int), ToolCallsByName: make(map[string]int),
		},
		tokens: make(map[string]events.Tokens), steps: make(map[string]events.StepStatus),
		calls: make(map[string]string), results: make(map[string]bool), subagents: make(map[string]bool),
	}
}

// Add adds the next event.
func (f *RunFold) Add(e events.Event) error {
	k := e.Kind()
	if !IsServiceRecord(k) {
		f.attributes(e)
	}
	f.sum.Events++
	f.sum.Kinds[k]++
	f.sum.Sealed = k == events.RunSealed || f.sum.Sealed && IsServiceRecord(k)
	add, ok := folds[k]
	if !ok {
		return nil
	}
	if err := add(f, e); err != nil {
		return fmt.Errorf("payload of %s: %w", k, err)
	}
	return nil
}

// AddRemoved adds the next event if its payload was destroyed. It counts, and its contents
// are unknown.
func (f *RunFold) AddRemoved(e Entry) {
	f.sum.Removed++
	f.sum.Events++
	f.sum.Kinds[e.Kind]++
	if !IsServiceRecord(e.Kind) {
		f.attributes(events.Event{Time: e.Time})
		f.sum.Sealed = false
	}
}

// folds are the kinds whose payloads count.
var folds = map[events.Kind]func(*RunFold, events.Event) error{
	events.RunStarted:        (*RunFold).runStarted,
	events.SessionStart:      (*RunFold).sessionStart,
	events.RunFinished:       (*RunFold).runFinished,
	events.StepFinished:      (*RunFold).stepFinished,
	events.ToolBefore:        (*RunFold).toolBefore,
	events.ToolResult:        (*RunFold).toolResult,
	events.ResponseCompleted: (*RunFold).responseCompleted,
	events.SubagentStart:     (*RunFold).subagentStart,
	events.Error:             func(f *RunFold, _ events.Event) error { f.sum.Errors++; return nil },
}

func (f *RunFold) attributes(e events.Event) {
	s := &f.sum
	if !e.Time.IsZero() && (s.First.IsZero() || e.Time.Before(s.First)) {
		s.First = e.Time
	}
	if e.Time.After(s.Last) {
		s.Last = e.Time
	}
	for _, a := range [...]struct {
		have *string
		from string
	}{{&s.Session, e.Session}, {&s.ParentRun, e.ParentRun}, {&s.Agent, e.Agent}} {
		if *a.have == "" {
			*a.have = a.from
		}
	}
}

func (f *RunFold) runStarted(e events.Event) error {
	d, err := events.Payload[events.RunStartedData](e)
	f.sum.Title, f.sum.Model = d.Title, d.Model
	return err
}

func (f *RunFold) sessionStart(e events.Event) error {
	d, err := events.Payload[events.SessionStartData](e)
	if f.sum.Model == "" {
		f.sum.Model = d.Model
	}
	return err
}

func (f *RunFold) runFinished(e events.Event) error {
	d, err := events.Payload[events.RunFinishedData](e)
	f.sum.Finished = &d
	return err
}

func (f *RunFold) stepFinished(e events.Event) error {
	d, err := events.Payload[events.StepFinishedData](e)
	f.steps[f.key(e.Step)] = d.StepStatus
	return err
}

func (f *RunFold) toolBefore(e events.Event) error {
	d, err := events.Payload[events.ToolBeforeData](e)
	f.calls[f.key(e.ToolCall)] = d.Tool
	return err
}

func (f *RunFold) toolResult(e events.Event) error {
	d, err := events.Payload[events.ToolResultData](e)
	f.results[f.key(e.ToolCall)] = d.Status == events.ToolError
	return err
}

func (f *RunFold) responseCompleted(e events.Event) error {
	d, err := events.Payload[events.ResponseCompletedData](e)
	key := f.key(d.Message)
	if d.TokensUsed != nil {
		f.tokens[key] = *d.TokensUsed
	} else if _, ok := f.tokens[key]; !ok {
		f.tokens[key] = events.Tokens{}
	}
	return err
}

func (f *RunFold) subagentStart(e events.Event) error {
	d, err := events.Payload[events.SubagentStartData](e)
	f.subagents[d.Subagent] = true
	return err
}

// key returns id, or a unique key for an empty id.
func (f *RunFold) key(id string) string {
	if id != "" {
		return id
	}
	f.anonymous++
	return fmt.Sprintf("\x00%d", f.anonymous)
}

// Summary returns the summary of the events so far.
func (f *RunFold) Summary() RunSummary {
	s := f.sum
	s.Kinds = maps.Clone(f.sum.Kinds)
	s.Steps, s.ToolCallsByName = make(map[events.StepStatus]int), make(map[string]int)
	for _, status := range f.steps {
		s.Steps[status]++
	}
	for call, tool := range f.calls {
		s.ToolCalls++
		s.ToolCallsByName[tool]++
		if _, ok := f.results[call]; !ok {
			s.Unanswered++
		}
	}
	for call, failed := range f.results {
		s.ToolResults++
		if failed {
			s.ToolErrors++
		}
		if _, ok := f.calls[call]; !ok {
			s.Unasked++
		}
	}
	for _, t := range f.tokens {
		s.Responses++
		s.Tokens = s.Tokens.Plus(t)
	}
	s.Subagents = slices.Sorted(maps.Keys(f.subagents))
	return s
}

// IsServiceRecord reports whether events of kind k are records by Hooktrail's own services.
// They do not continue a run.
func IsServiceRecord(k events.Kind) bool {
	switch k { //nolint:exhaustive // all other kinds are of agents
	case events.RunSealed, events.GapRecorded, events.IssueDecided, events.IssueEdited,
		events.AuditAccessed, events.ClockTicked:
		return true
	}
	return false
}

package ledger

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// RunSummary describes a run by its events. Where only one event of a kind can count, such as
// run.finished, the last one does.
type RunSummary struct {
	Run       string `json:"run"`
	Tenant    string `json:"tenant"`
	Session   string `json:"session,omitempty"`
	ParentRun string `json:"parent_run,omitempty"`
	Agent     string `json:"agent,omitempty"`
	Title     string `json:"title,omitempty"`
	Model     string `json:"model,omitempty"`

	First time.Time `json:"first,omitzero"` // time of the first event that is not a service record, see [IsServiceRecord]
	Last  time.Time `json:"last,omitzero"`

	Events  int                 `json:"events"`
	Removed int                 `json:"removed,omitempty"` // erased or pruned events; only Events and Kinds include them
	Kinds   map[events.Kind]int `json:"kinds"`

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
	Errors    int           `json:"errors"`

	Subagents []string `json:"subagents,omitempty"` // sorted

	Finished *events.RunFinishedData `json:"finished,omitempty"`
	Sealed   bool                    `json:"sealed"` // nothing but service records follows the seal
}

// Summary reads the events of a run and summarises them.
func (r *Reader) Summary(ctx context.Context, run string) (RunSummary, error) {
	f := newRunFold(r.Tenant(), run)
	for entry, err := range r.Run(ctx, run) {
		if err != nil {
			return RunSummary{}, err
		}
		if entry.Removal.Done() {
			f.addRemoved(entry)
			continue
		}
		e, err := events.Decode(entry.Bytes)
		if err != nil {
			return RunSummary{}, fmt.Errorf("leaf %d: %w", entry.Leaf, err)
		}
		if err := f.add(e); err != nil {
			return RunSummary{}, fmt.Errorf("leaf %d: %w", entry.Leaf, err)
		}
	}
	return f.summary(), nil
}

type runFold struct {
	sum       RunSummary
	tokens    map[string]events.Tokens
	steps     map[string]stepEnd
	calls     map[string]string // name of the tool, by call id
	results   map[string]events.ToolStatus
	denied    map[string]bool // calls that hooks denied
	finished  time.Time
	anonymous int
	subagents map[string]bool
}

func newRunFold(tenant, run string) *runFold {
	return &runFold{
		sum: RunSummary{
			Run: run, Tenant: tenant, Kinds: make(map[events.Kind]int),
			Steps: make(map[events.StepStatus]int), ToolCallsByName: make(map[string]int),
		},
		tokens: make(map[string]events.Tokens), steps: make(map[string]stepEnd),
		calls: make(map[string]string), results: make(map[string]events.ToolStatus), denied: make(map[string]bool), subagents: make(map[string]bool),
	}
}

func (f *runFold) add(e events.Event) error {
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

func (f *runFold) addRemoved(e Entry) {
	f.sum.Removed++
	f.sum.Events++
	f.sum.Kinds[e.Kind]++
	if !IsServiceRecord(e.Kind) {
		f.attributes(events.Event{Time: e.Time})
		f.sum.Sealed = false
	}
}

var folds = map[events.Kind]func(*runFold, events.Event) error{
	events.RunStarted:        (*runFold).runStarted,
	events.SessionStart:      (*runFold).sessionStart,
	events.RunFinished:       (*runFold).runFinished,
	events.StepFinished:      (*runFold).stepFinished,
	events.ToolBefore:        (*runFold).toolBefore,
	events.ToolResult:        (*runFold).toolResult,
	events.Approval:          (*runFold).approval,
	events.ResponseCompleted: (*runFold).responseCompleted,
	events.SubagentStart:     (*runFold).subagentStart,
	events.Error:             func(f *runFold, _ events.Event) error { f.sum.Errors++; return nil },
}

func (f *runFold) attributes(e events.Event) {
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

func (f *runFold) runStarted(e events.Event) error {
	d, err := events.Payload[events.RunStartedData](e)
	f.sum.Title, f.sum.Model = d.Title, d.Model
	return err
}

func (f *runFold) sessionStart(e events.Event) error {
	d, err := events.Payload[events.SessionStartData](e)
	if f.sum.Model == "" {
		f.sum.Model = d.Model
	}
	return err
}

func (f *runFold) runFinished(e events.Event) error {
	d, err := events.Payload[events.RunFinishedData](e)
	if last := f.sum.Finished; last == nil || !d.IsEndOfLog() && (last.IsEndOfLog() || !e.Time.Before(f.finished)) {
		f.sum.Finished, f.finished = &d, e.Time
	}
	return err
}

func (f *runFold) toolBefore(e events.Event) error {
	d, err := events.Payload[events.ToolBeforeData](e)
	key := f.key(e.ToolCall)
	f.calls[key] = events.ToolName(f.calls[key], d.Tool)
	f.denied[key] = f.denied[key] || d.Verdict == events.VerdictDeny
	return err
}

func (f *runFold) approval(e events.Event) error {
	d, err := events.Payload[events.ApprovalData](e)
	if e.ToolCall != "" && d.Verdict == events.VerdictDeny {
		f.denied[e.ToolCall] = true
	}
	return err
}

func (f *runFold) toolResult(e events.Event) error {
	d, err := events.Payload[events.ToolResultData](e)
	key := f.key(e.ToolCall)
	f.results[key] = f.results[key].Stronger(d.Status)
	return err
}

func (f *runFold) responseCompleted(e events.Event) error {
	d, err := events.Payload[events.ResponseCompletedData](e)
	key := f.key(d.Message)
	if d.TokensUsed != nil {
		f.tokens[key] = *d.TokensUsed
	} else if _, ok := f.tokens[key]; !ok {
		f.tokens[key] = events.Tokens{}
	}
	return err
}

func (f *runFold) subagentStart(e events.Event) error {
	d, err := events.Payload[events.SubagentStartData](e)
	f.subagents[d.Subagent] = true
	return err
}

func (f *runFold) key(id string) string {
	if id != "" {
		return id
	}
	f.anonymous++
	return fmt.Sprintf("\x00%d", f.anonymous)
}

func (f *runFold) summary() RunSummary {
	s := f.sum
	s.Kinds = maps.Clone(f.sum.Kinds)
	s.Steps, s.ToolCallsByName = make(map[events.StepStatus]int), make(map[string]int)
	for _, step := range f.steps {
		s.Steps[step.status]++
	}
	for call, tool := range f.calls {
		s.ToolCalls++
		s.ToolCallsByName[tool]++
		if _, ok := f.results[call]; !ok && !f.denied[call] {
			s.Unanswered++
		}
	}
	for call, status := range f.results {
		s.ToolResults++
		if !f.denied[call] {
			s.count(status)
		}
		if _, ok := f.calls[call]; !ok {
			s.Unasked++
		}
	}
	for call, denied := range f.denied {
		if _, ok := f.calls[call]; ok && denied {
			s.ToolDenied++
		}
	}
	s.Responses, s.Tokens = len(f.tokens), f.spent()
	s.Subagents = slices.Sorted(maps.Keys(f.subagents))
	return s
}

func (s *RunSummary) count(status events.ToolStatus) {
	switch status {
	case events.ToolSuccess:
	case events.ToolError:
		s.ToolErrors++
	case events.ToolDenied:
		s.ToolDenied++
	case events.ToolInterrupted:
		s.ToolInterrupted++
	}
}

// IsServiceRecord reports whether Hooktrail's own services write events of kind k. Such events do
// not continue a run, so a run stays sealed if they follow its seal.
func IsServiceRecord(k events.Kind) bool {
	switch k { //nolint:exhaustive // all other kinds are of agents
	case events.RunSealed, events.GapRecorded, events.IssueDecided, events.IssueEdited,
		events.AuditAccessed, events.ProducerLost, events.ClockTicked:
		return true
	}
	return false
}

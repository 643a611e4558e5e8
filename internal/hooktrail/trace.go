package hooktrail

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
	Unanswered int            `json:"unanswered"` // tool calls without a result
	Tokens     events.Tokens  `json:"tokens"`
	Steps      []*Step        `json:"steps"`
	Tools      map[string]int `json:"tools"` // calls by name
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
}

// Row is what happened in a step: a tool call, or one of the rarer things.
type Row struct {
	Kind       events.Kind       `json:"kind"` // tool.before for a call, error, compact.before
	Name       string            `json:"name"`
	Detail     string            `json:"detail,omitempty"`
	Started    time.Time         `json:"started"`
	DurationMS int64             `json:"duration_ms"`
	Status     events.ToolStatus `json:"status,omitempty"` // empty: no result came
	Verdict    events.Verdict    `json:"verdict,omitempty"`
	Failure    *events.Failure   `json:"failure,omitempty"`
	Run        string            `json:"run,omitempty"` // of the sub-agent that the call started
}

// tracer folds the events of a run, in the order of the ledger.
type tracer struct {
	trace Trace
	steps map[string]*Step
	calls map[string]*Row
}

func newTracer(tenant, run string) *tracer {
	return &tracer{
		trace: Trace{Run: run, Tenant: tenant, Tools: map[string]int{}, Steps: []*Step{}},
		steps: map[string]*Step{},
		calls: map[string]*Row{},
	}
}

// add folds one event. A payload that is not what its kind promises is counted
// and shown without details: a trace shows what is there.
func (t *tracer) add(e events.Event) {
	tr := &t.trace
	tr.Events++
	switch e.Kind() { //nolint:exhaustive // what services say about a run is not part of it
	case events.RunSealed:
		tr.Sealed = true
		return
	case events.IssueDecided, events.IssueEdited, events.GapRecorded, events.AuditAccessed, events.ClockTicked:
		return
	}
	tr.Sealed = false
	t.identify(e)
	if tr.Started.IsZero() || e.Time.Before(tr.Started) {
		tr.Started = e.Time
	}
	if e.Time.After(tr.Ended) {
		tr.Ended = e.Time
	}
	if fold, ok := folds[e.Kind()]; ok {
		fold(t, e)
	}
}

func (t *tracer) identify(e events.Event) {
	tr := &t.trace
	if tr.Source == "" {
		tr.Source = e.Source
	}
	if tr.Agent == "" {
		tr.Agent = e.Agent
	}
	if tr.ParentRun == "" {
		tr.ParentRun = e.ParentRun
	}
}

// folds are the kinds that show.
var folds = map[events.Kind]func(*tracer, events.Event){
	events.RunStarted:        (*tracer).runStarted,
	events.RunFinished:       (*tracer).runFinished,
	events.PromptSubmit:      (*tracer).prompted,
	events.StepFinished:      (*tracer).stepFinished,
	events.ToolBefore:        (*tracer).called,
	events.Approval:          (*tracer).approved,
	events.ToolResult:        (*tracer).answered,
	events.SubagentStart:     (*tracer).delegated,
	events.ResponseCompleted: (*tracer).responded,
	events.Error:             (*tracer).failed,
	events.CompactBefore:     (*tracer).compacted,
}

// step returns the step that e belongs to.
func (t *tracer) step(e events.Event) *Step {
	s := t.steps[e.Step]
	if s == nil {
		s = &Step{ID: e.Step, Status: events.StepRunning, Started: e.Time, Rows: []*Row{}}
		t.steps[e.Step] = s
		t.trace.Steps = append(t.trace.Steps, s)
	}
	if e.Time.Before(s.Started) {
		s.Started = e.Time
	}
	if ms := e.Time.Sub(s.Started).Milliseconds(); s.Status == events.StepRunning && ms > s.DurationMS {
		s.DurationMS = ms
	}
	return s
}

func (t *tracer) row(e events.Event, row Row) *Row {
	s := t.step(e)
	row.Kind, row.Started = e.Kind(), e.Time
	s.Rows = append(s.Rows, &row)
	return &row
}

func (t *tracer) runStarted(e events.Event) {
	p, _ := events.Payload[events.RunStartedData](e)
	t.trace.Version, t.trace.Cwd = p.Version, p.Cwd
	if t.trace.Model == "" {
		t.trace.Model = p.Model
	}
}

// runFinished takes the totals of the latest run.finished.
func (t *tracer) runFinished(e events.Event) {
	p, err := events.Payload[events.RunFinishedData](e)
	if err != nil {
		return
	}
	tr := &t.trace
	tr.Finished, tr.Success = true, p.Success
	if p.TokensUsed != nil {
		tr.Tokens = *p.TokensUsed
	}
}

func (t *tracer) prompted(e events.Event) {
	p, _ := events.Payload[events.PromptSubmitData](e)
	t.step(e).Input = p.Prompt
}

func (t *tracer) stepFinished(e events.Event) {
	p, err := events.Payload[events.StepFinishedData](e)
	if err != nil {
		return
	}
	s := t.step(e)
	s.Status, s.Output, s.Failure, s.DurationMS = p.StepStatus, p.OutputSummary, p.Error, p.DurationMS
	if s.Input == "" {
		s.Input = p.InputSummary
	}
	if p.TokensUsed != nil {
		s.Tokens = *p.TokensUsed
	}
}

func (t *tracer) called(e events.Event) {
	p, _ := events.Payload[events.ToolBeforeData](e)
	row := t.row(e, Row{Name: p.Tool, Detail: detail(p.Args, t.trace.Cwd), Verdict: p.Verdict})
	t.trace.ToolCalls++
	t.trace.Tools[p.Tool]++
	if p.Verdict != events.VerdictDeny {
		t.trace.Unanswered++
	}
	if e.ToolCall != "" {
		t.calls[e.ToolCall] = row
	}
}

// approved takes in how a question about a call was answered: what is not
// allowed is denied, and no result comes.
func (t *tracer) approved(e events.Event) {
	p, err := events.Payload[events.ApprovalData](e)
	row := t.calls[e.ToolCall]
	if err != nil || row == nil || row.Verdict != events.VerdictAsk || p.Verdict == events.VerdictAllow {
		return
	}
	row.Verdict = events.VerdictDeny
	t.trace.Unanswered--
}

func (t *tracer) answered(e events.Event) {
	p, err := events.Payload[events.ToolResultData](e)
	if err != nil {
		return
	}
	row := t.calls[e.ToolCall]
	switch {
	case row == nil: // a result whose call was never seen
		row = t.row(e, Row{Name: p.Tool})
	case row.Status == "" && row.Verdict != events.VerdictDeny:
		t.trace.Unanswered--
	}
	row.Status, row.Failure, row.DurationMS = p.Status, p.Error, p.DurationMS
	if row.DurationMS == 0 {
		row.DurationMS = max(0, e.Time.Sub(row.Started).Milliseconds())
	}
	if p.Status == events.ToolError {
		t.trace.ToolErrors++
	}
}

// delegated names the run of a sub-agent at the call that started it.
func (t *tracer) delegated(e events.Event) {
	p, _ := events.Payload[events.SubagentStartData](e)
	row := t.calls[e.ToolCall]
	if row == nil {
		row = t.row(e, Row{Name: p.TaskType, Detail: p.Name})
	}
	session := e.Session
	if session == "" {
		session = e.Run
	}
	row.Run = session + "/" + p.Subagent
}

func (t *tracer) responded(e events.Event) {
	p, _ := events.Payload[events.ResponseCompletedData](e)
	if p.Model != "" && p.Model != syntheticModel {
		t.trace.Model = p.Model
	}
}

// syntheticModel is what Claude Code names where no model answered.
const syntheticModel = "<synthetic>"

func (t *tracer) failed(e events.Event) {
	p, _ := events.Payload[events.ErrorData](e)
	name := p.Error.Class
	if name == "" {
		name = p.ErrorType
	}
	t.row(e, Row{Name: name, Detail: oneLine(p.Error.Message), Status: events.ToolError, Failure: &p.Error})
}

func (t *tracer) compacted(e events.Event) {
	p, _ := events.Payload[events.CompactBeforeData](e)
	t.row(e, Row{Name: "compaction", Detail: p.Trigger})
}

// result returns the trace of what was added.
func (t *tracer) result() Trace {
	if !t.trace.Finished {
		for _, s := range t.trace.Steps {
			t.trace.Tokens = t.trace.Tokens.Plus(s.Tokens)
		}
	}
	return t.trace
}

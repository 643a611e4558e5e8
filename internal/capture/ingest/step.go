package ingest

import (
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Step is a prompt with the work that follows, or one turn of a model.
type Step struct {
	ID         string
	Input      string // clipped
	Output     string // clipped
	DurationMS int64  // from the input; if 0, derived from the times of the events
	Tokens     events.Tokens
	Failure    *events.Failure
	// Status states how the step ended. It is empty if the input does not say so. If Failure is
	// set, Failure takes precedence.
	Status   events.StepStatus
	Metadata map[string]any

	ToolCalls, ToolErrors, ToolDenied, ToolInterrupted int

	perAnswer bool // see Run.PerAnswer
	answered  int  // calls of this step with a result
	told      bool // the input states tokens

	name string // derived from the origin, for event ids

	first, last time.Time
}

// Answer stores text as the output of the step. If the text is not empty, Answer also sets the
// status to completed.
func (s *Step) Answer(text string) {
	s.Output = Clip(text, MaxOutput)
	if strings.TrimSpace(text) != "" {
		s.Status = events.StepCompleted
	}
}

func (s *Step) goesOn() {
	if s.Status == events.StepCompleted {
		s.Status = ""
	}
}

// Step returns the open step, or nil if no step is open.
func (r *Run) Step() *Step { return r.step }

// StepID returns the id of the open step, or "" if no step is open.
func (r *Run) StepID() string {
	if r.step == nil {
		return ""
	}
	return r.step.ID
}

// Open ends the open step and begins a new one, with the id p.Step. If p.Step is empty, the id is
// p.ID. A number is appended to an id that was used before.
func (r *Run) Open(p Origin, input string) *Step {
	r.CloseStep()
	name := r.stepIDs.Unique(p.ID)
	r.step = &Step{ID: name, name: name, Input: Clip(input, MaxInput), first: p.Time, last: p.Time, perAnswer: r.PerAnswer}
	if p.Step != "" {
		r.step.ID = r.named.Unique(p.Step)
	}
	r.steps++
	return r.step
}

// Within returns the open step, or opens one if there is none. It extends the duration of the step
// up to the time of p.
func (r *Run) Within(p Origin) *Step {
	if r.step == nil {
		r.Open(p, "")
	}
	if p.Time.After(r.step.last) {
		r.step.last = p.Time
	}
	return r.step
}

// Prompt begins a step and emits prompt.submit.
func (r *Run) Prompt(p Origin, data events.PromptSubmitData) {
	r.Open(p, data.Prompt)
	r.Emit(p, events.PromptSubmit, "", data)
}

// CloseStep emits step.finished for the open step, if there is one.
func (r *Run) CloseStep() {
	s := r.step
	if s == nil {
		return
	}
	r.Failure, r.Output, r.Status = s.Failure, s.Output, runStatus(s.status())
	r.Aggregate(s.name, s.ID, s.last, events.StepFinished, s.finished(r.m))
	r.step = nil
}

func (s *Step) finished(m *Emitter) events.StepFinishedData {
	data := events.StepFinishedData{
		StepStatus:    s.status(),
		InputSummary:  s.Input,
		OutputSummary: s.Output,
		DurationMS:    s.DurationMS,
		TokensUsed:    toldTokens(s.Tokens, s.told),
		ToolCalls:     s.ToolCalls,
		ToolErrors:    s.ToolErrors,
		ToolDenied:    s.ToolDenied, ToolInterrupted: s.ToolInterrupted,
		Error:    s.Failure,
		Metadata: s.Metadata,
	}
	if data.DurationMS == 0 {
		data.DurationMS = m.between(s.first, s.last)
	}
	return data
}

func (s *Step) status() events.StepStatus {
	switch {
	case s.Failure != nil:
		return events.StepFailed
	case s.perAnswer && s.Status != events.StepInterrupted && s.answered >= s.ToolCalls:
		return events.StepCompleted
	case s.Status == "":
		return events.StepUnknown
	}
	return s.Status
}

func runStatus(s events.StepStatus) events.RunStatus {
	switch s { //nolint:exhaustive // a step in another state says nothing about the end of the run
	case events.StepCompleted:
		return events.RunCompleted
	case events.StepFailed:
		return events.RunFailed
	case events.StepInterrupted:
		return events.RunInterrupted
	}
	return events.RunUnknown
}

package ingest

import (
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
	Metadata   map[string]any

	ToolCalls, ToolErrors int

	first, last time.Time
}

// Answer stores text as the latest answer of the step.
func (s *Step) Answer(text string) { s.Output = Clip(text, MaxOutput) }

// Step returns the open step, or nil.
func (r *Run) Step() *Step { return r.step }

// StepID returns the id of the open step, or the empty string.
func (r *Run) StepID() string {
	if r.step == nil {
		return ""
	}
	return r.step.ID
}

// Open ends the open step and begins another one with the id of the origin. If the run
// already has a step with that id, Open appends a number.
func (r *Run) Open(p Origin, input string) *Step {
	r.CloseStep()
	r.step = &Step{ID: r.stepIDs.Unique(p.ID), Input: Clip(input, MaxInput), first: p.Time, last: p.Time}
	r.steps++
	return r.step
}

// Within returns the open step, or opens one. The step then lasts at least until the time
// of the origin p.
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
	r.Failure, r.Output = s.Failure, s.Output
	r.Aggregate(s.ID, s.ID, s.last, events.StepFinished, s.finished())
	r.step = nil
}

func (s *Step) finished() events.StepFinishedData {
	tokens := s.Tokens
	data := events.StepFinishedData{
		StepStatus:    events.StepCompleted,
		InputSummary:  s.Input,
		OutputSummary: s.Output,
		DurationMS:    s.DurationMS,
		TokensUsed:    &tokens,
		ToolCalls:     s.ToolCalls,
		ToolErrors:    s.ToolErrors,
		Error:         s.Failure,
		Metadata:      s.Metadata,
	}
	if s.Failure != nil {
		data.StepStatus = events.StepFailed
	}
	if data.DurationMS == 0 {
		data.DurationMS = s.last.Sub(s.first).Milliseconds()
	}
	return data
}

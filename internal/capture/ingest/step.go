package ingest

import (
	"strconv"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Step is a prompt and what followed on it, or one turn of a model, as the tool
// has it.
type Step struct {
	ID         string
	Input      string // clipped
	Output     string // clipped
	DurationMS int64  // as the input tells it; 0 where it does not: then it is counted from the events
	Tokens     events.Tokens
	Failure    *events.Failure
	Metadata   map[string]any

	ToolCalls, ToolErrors int

	first, last time.Time
}

// Answer says that text was the latest answer of the step.
func (s *Step) Answer(text string) { s.Output = Clip(text, MaxOutput) }

// Step returns the step that is open, nil where none is.
func (r *Run) Step() *Step { return r.step }

// StepID returns the id of the open step, nothing where none is.
func (r *Run) StepID() string {
	if r.step == nil {
		return ""
	}
	return r.step.ID
}

// Open ends the open step and begins another one, which p names. Where an earlier
// step has that name, it gets one of its own.
func (r *Run) Open(p Place, input string) *Step {
	r.CloseStep()
	id := p.ID
	for r.stepIDs[id]++; r.stepIDs[id] > 1; r.stepIDs[id]++ {
		id += "-" + strconv.Itoa(r.stepIDs[id])
	}
	r.step = &Step{ID: id, Input: Clip(input, MaxInput), first: p.Time, last: p.Time}
	r.steps++
	return r.step
}

// Within returns the step that p belongs to: the open one, or a new one where
// none is. What comes before any prompt is a step too.
func (r *Run) Within(p Place) *Step {
	if r.step == nil {
		r.Open(p, "")
	}
	if p.Time.After(r.step.last) {
		r.step.last = p.Time
	}
	return r.step
}

// Prompt begins a step with what was asked, and emits prompt.submit.
func (r *Run) Prompt(p Place, data events.PromptSubmitData) {
	r.Open(p, data.Prompt)
	r.Emit(p, events.PromptSubmit, "", data)
}

// CloseStep ends the open step, if one is, and emits step.finished.
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

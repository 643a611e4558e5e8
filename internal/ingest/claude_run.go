package ingest

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// run is what is remembered of a run: counters and ids.
type run struct {
	id, session, agent string
	first, last        time.Time
	hasStart           bool   // the session's start is told
	startHook          string // names the hooks of its latest start

	step     *step             // nil before the first and after the last
	response *response         // the API call whose lines are being read
	spent    map[string]*spent // by message id
	calls    map[string]*call

	steps, toolCalls, toolErrors, answered int
	tokens                                 events.Tokens
	failure                                *events.Failure // how the latest step failed
	output                                 string          // of the latest step, clipped
}

// step is a prompt and what followed on it.
type step struct {
	id                    string
	first, last           time.Time
	durationMS            int64 // as the transcript says, 0 where it does not
	input, output         string
	toolCalls, toolErrors int
	tokens                events.Tokens
	failure               *events.Failure
	interrupted           bool
}

// spent is what an API call used, and how often its lines ended: those of
// another may stand between them.
type spent struct {
	tokens events.Tokens
	ends   int
}

// response is one API call, which the transcript spreads over several lines.
type response struct {
	id, model, stop string
	step            string
	last            time.Time
	tokens          *events.Tokens
	usage           json.RawMessage
}

// call is a tool call. It is kept after its result came, to know a second one.
type call struct {
	tool     string
	at       time.Time
	answered bool
	task     *task
}

// task is a call that starts a sub-agent.
type task struct {
	Type        string `json:"subagent_type"`
	Description string `json:"description"`
	Prompt      string `json:"prompt"`
	Model       string `json:"model"`

	agent string // empty until it is known
}

const (
	maxInput   = 300  // bytes of a prompt in a summary
	maxOutput  = 600  // bytes of an answer in a summary
	maxMessage = 2000 // bytes of an error message
)

func (r *run) touch(at time.Time) {
	if at.After(r.last) {
		r.last = at
	}
}

func (r *run) stepID() string {
	if r.step == nil {
		return ""
	}
	return r.step.id
}

// within returns the step that l belongs to. What comes before any prompt is a
// step too.
func (r *run) within(l *claudeLine) *step {
	if r.step == nil {
		r.open(l, "")
	}
	if l.time.After(r.step.last) {
		r.step.last = l.time
	}
	return r.step
}

func (r *run) open(l *claudeLine, prompt string) {
	r.step = &step{id: l.id, first: l.time, last: l.time, input: clip(prompt, maxInput)}
	r.steps++
}

// spend counts the usage of a message; only the latest of a message counts.
func (r *run) spend(id string, now events.Tokens) {
	m := r.spent[id]
	delta := events.Tokens{
		Input: now.Input - m.tokens.Input, Output: now.Output - m.tokens.Output,
		CacheCreation: now.CacheCreation - m.tokens.CacheCreation, CacheRead: now.CacheRead - m.tokens.CacheRead,
	}
	m.tokens = now
	r.tokens = r.tokens.Plus(delta)
	r.step.tokens = r.step.tokens.Plus(delta)
}

// finished returns the aggregate of the run.
func (r *run) finished() events.RunFinishedData {
	tokens := r.tokens
	return events.RunFinishedData{
		Success:       r.failure == nil,
		OutputSummary: r.output,
		DurationMS:    r.last.Sub(r.first).Milliseconds(),
		TokensUsed:    &tokens,
		Steps:         r.steps,
		ToolCalls:     r.toolCalls,
		ToolErrors:    r.toolErrors,
		Unanswered:    r.toolCalls - r.answered,
		Error:         r.failure,
	}
}

// finished returns the aggregate of the step.
func (s *step) finished() events.StepFinishedData {
	tokens := s.tokens
	data := events.StepFinishedData{
		StepStatus:    events.StepCompleted,
		InputSummary:  s.input,
		OutputSummary: s.output,
		DurationMS:    s.durationMS,
		TokensUsed:    &tokens,
		ToolCalls:     s.toolCalls,
		ToolErrors:    s.toolErrors,
		Error:         s.failure,
	}
	if s.failure != nil {
		data.StepStatus = events.StepFailed
	}
	if data.DurationMS == 0 {
		data.DurationMS = s.last.Sub(s.first).Milliseconds()
	}
	if s.interrupted {
		data.Metadata = map[string]any{"interrupted": true}
	}
	return data
}

// closeStep ends the open API call and the open step of r.
func (c *claude) closeStep(r *run) {
	c.closeResponse(r)
	s := r.step
	if s == nil {
		return
	}
	r.failure, r.output = s.failure, s.output
	c.aggregate(r, s.id, s.id, s.last, events.StepFinished, s.finished())
	r.step = nil
}

func (c *claude) closeResponse(r *run) {
	p := r.response
	if p == nil {
		return
	}
	r.response = nil
	m := r.spent[p.id]
	m.ends++
	c.aggregate(r, p.id+"#"+strconv.Itoa(m.ends), p.step, p.last, events.ResponseCompleted, events.ResponseCompletedData{
		Message: p.id, Model: p.model, StopReason: p.stop, TokensUsed: p.tokens,
		Common: events.Common{Raw: p.usage},
	})
}

package sweagent

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type step struct {
	Response    string            `json:"response"`
	Thought     string            `json:"thought"`
	Action      string            `json:"action"`
	Observation string            `json:"observation"`
	Seconds     float64           `json:"execution_time"`
	Query       []json.RawMessage `json:"query"`
	Messages    []json.RawMessage `json:"messages"` // before version 1.1
}

func (s *step) shown() []json.RawMessage {
	if s.Query != nil {
		return s.Query
	}
	return s.Messages
}

// trajectory skips the steps of a file that also contains attempts, because they repeat the steps
// of one attempt.
func (t *transcript) trajectory(p ingest.Fragment) {
	number := t.steps
	t.steps++
	if t.tried > 0 {
		return
	}
	if t.run == nil {
		t.begin(p.Text, t.Now())
	}
	t.step(t.run, number, p.Text)
}

func (t *transcript) attempt(p ingest.Fragment) {
	t.tried++
	var a struct {
		Trajectory []json.RawMessage `json:"trajectory"`
		Info       info              `json:"info"`
	}
	if json.Unmarshal(p.Text, &a) != nil {
		t.Fault("attempts: not what was expected of it", true)
	}
	if t.run == nil {
		var first json.RawMessage
		if len(a.Trajectory) > 0 {
			first = a.Trajectory[0]
		}
		t.begin(first, t.Now())
	}
	name := "attempt-" + strconv.Itoa(t.tried)
	r := &run{start: t.run.start}
	r.Run = t.Run(t.run.Sub(name, Source), ingest.Origin{ID: "run", Time: r.start}, events.RunStartedData{Title: name, Version: a.Info.version()})
	r.PerAnswer = true
	for i, text := range a.Trajectory {
		t.step(r, i, text)
	}
	r.CloseStep()
	data := r.Finished()
	a.Info.end(&data, r)
	data.Raw = ingest.Without(p.Text, trajectory, history)
	r.Finish(&data)
}

func (t *transcript) step(r *run, number int, text json.RawMessage) {
	p := ingest.Origin{ID: "step-" + strconv.Itoa(number), Time: r.now()}
	var s step
	if err := json.Unmarshal(text, &s); err != nil {
		t.WrongShape(err, true)
		r.Emit(p, events.Custom, "", events.CustomData{Name: "step", Common: events.Common{Raw: text}})
		return
	}
	if number == 0 {
		t.opening(r, s.shown())
	}
	r.turn(p)
	if shown := s.shown(); len(shown) > 0 {
		r.Emit(p, events.LLMRequest, "", requested(shown))
	}
	r.Emit(p, events.ResponseCompleted, "", events.ResponseCompletedData{
		Message: p.ID, Text: s.Response,
		Common: events.Common{Raw: ingest.Without(text, "response", "action", "observation", "query", "messages")},
	})
	if s.Action == "" {
		if s.Observation != "" {
			t.emitMessage(r, p, "user", ingest.JSON(s.Observation), nil)
		}
		return
	}
	tool, args := toolOf(s.Action)
	r.Call(p, p.ID, events.ToolBeforeData{Tool: tool, Args: args})
	result := observed(s.Observation)
	result.DurationMS = int64(min(max(0, s.Seconds), 1e9) * 1000)
	r.elapsed += time.Duration(result.DurationMS) * time.Millisecond
	p.Time = r.now()
	r.Touch(p.Time)
	r.Result(p, p.ID, result)
	r.submitted, r.answer = submits(tool, s.Action), ""
}

func requested(shown []json.RawMessage) events.HistoryData {
	sum := sha256.New()
	for _, m := range shown {
		sum.Write(m)
		sum.Write([]byte{'\n'})
	}
	digest := hex.EncodeToString(sum.Sum(nil))
	return events.HistoryData{Before: len(shown), After: len(shown), BeforeSHA256: digest, AfterSHA256: digest}
}

func (t *transcript) emitMessage(r *run, p ingest.Origin, role string, content, raw json.RawMessage) {
	r.Emit(p, events.MessageCreated, "", events.MessageData{
		Message: p.ID, Role: role, Content: content, Common: events.Common{Raw: raw},
	})
}

func (t *transcript) opening(r *run, shown []json.RawMessage) {
	for i, text := range shown {
		var m message
		if json.Unmarshal(text, &m) != nil || m.isAnswer() && !m.Demo {
			return
		}
		p := ingest.Origin{ID: "query-" + strconv.Itoa(i), Time: r.now()}
		if m.Role == "user" && !m.Demo && r.Step() == nil {
			t.prompted = true
			r.Prompt(p, events.PromptSubmitData{Prompt: ingest.Flatten(m.Content)})
			continue
		}
		t.emitMessage(r, p, m.Role, m.Content, ingest.Without(text, "content", "role"))
	}
}

// historical skips the messages after the prompt, because they repeat the content of the steps.
func (t *transcript) historical(p ingest.Fragment) {
	t.past.Write(p.Text)
	t.past.Write([]byte{'\n'})
	t.repeats++
	var m message
	if t.prompted || json.Unmarshal(p.Text, &m) != nil {
		return
	}
	r := t.run
	r.CloseStep()
	at := ingest.Origin{ID: "history-" + strconv.Itoa(t.repeats), Time: r.start}
	switch {
	case m.isAnswer() && !m.Demo:
		t.prompted = true
	case m.Role == "user" && !m.Demo:
		t.prompted = true
		r.Emit(at, events.PromptSubmit, "", events.PromptSubmitData{Prompt: ingest.Flatten(m.Content)})
	default:
		t.emitMessage(r, at, m.Role, m.Content, ingest.Without(p.Text, "content", "role"))
	}
}

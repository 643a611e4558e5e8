package sweagent

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type message struct {
	Role    string          `json:"role"`
	Content json.RawMessage `json:"content"`
	Calls   []struct {
		ID       string `json:"id"`
		Function function
	} `json:"tool_calls"`
	Answers string `json:"tool_call_id"` // on a result: the id of its call

	Type   string          `json:"type"`   // of the Responses API
	Object string          `json:"object"` // likewise: "response"
	Output json.RawMessage `json:"output"` // of a response, or of a call
	CallID string          `json:"call_id"`

	Action  string   `json:"action"` // of a history
	CallIDs []string `json:"tool_call_ids"`
	Demo    bool     `json:"is_demo"`
	Usage   *usage   `json:"usage"`
	Model   string   `json:"model"`
	Extra   extra    `json:"extra"`

	id   string
	line int
	raw  json.RawMessage
	time time.Time
}

type function struct {
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
}

type extra struct {
	Actions []struct {
		Command string `json:"command"`
		CallID  string `json:"tool_call_id"`
	} `json:"actions"`
	Response struct {
		Model string `json:"model"`
		Usage *usage `json:"usage"`
	} `json:"response"`
	Timestamp  float64 `json:"timestamp"` // seconds since 1970
	Code       *int    `json:"returncode"`
	Exception  string  `json:"exception_info"`
	Interrupt  string  `json:"interrupt_type"`
	Exit       string  `json:"exit_status"`
	Submission string  `json:"submission"`
}

type usage struct {
	Prompt     json.RawMessage `json:"prompt_tokens"`
	Completion json.RawMessage `json:"completion_tokens"`
	Input      json.RawMessage `json:"input_tokens"`  // of the Responses API
	Output     json.RawMessage `json:"output_tokens"` // likewise
	Details    struct {
		Cached json.RawMessage `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	InputDetails struct {
		Cached json.RawMessage `json:"cached_tokens"`
	} `json:"input_tokens_details"`
}

func (u *usage) tokens() events.Tokens {
	t := events.Tokens{
		Output:    ingest.Number(u.Completion) + ingest.Number(u.Output),
		CacheRead: ingest.Number(u.Details.Cached) + ingest.Number(u.InputDetails.Cached),
	}
	t.Input = max(0, ingest.Number(u.Prompt)+ingest.Number(u.Input)-t.CacheRead)
	return t
}

func (m *message) isAnswer() bool { return m.Role == "assistant" || m.Object == "response" }

func (m *message) origin() ingest.Origin { return ingest.Origin{ID: m.id, Time: m.time} }

func (m *message) when() (time.Time, bool) {
	s := m.Extra.Timestamp
	if s <= 0 || s > 253402300799 { // the end of the year 9999
		return time.Time{}, false
	}
	whole, part := math.Modf(s)
	return time.Unix(int64(whole), int64(part*1e9)).UTC().Round(time.Microsecond), true
}

func (t *transcript) message(p ingest.Fragment) {
	m := &message{raw: p.Text, line: p.Line, id: "message-" + strconv.Itoa(t.items)}
	t.items++
	if err := json.Unmarshal(p.Text, m); err != nil {
		t.WrongShape(err, true)
		m.Role = ""
	}
	if t.run != nil {
		t.translate(m)
		return
	}
	t.pending = append(t.pending, m)
	if m.isAnswer() || len(t.pending) > maxPending {
		t.release(m.raw)
	}
}

const maxPending = 100

func (t *transcript) release(first json.RawMessage) {
	for _, m := range slices.Backward(t.pending) {
		if at, ok := m.when(); ok {
			t.time = at
		}
	}
	if t.time.IsZero() {
		t.time = t.Now()
	}
	t.begin(first, t.time)
	for _, m := range t.pending {
		t.translate(m)
	}
	t.pending = nil
}

func (t *transcript) translate(m *message) {
	t.At(m.line)
	if at, ok := m.when(); ok {
		t.time = at
	}
	m.time = t.time
	r := t.run
	r.Touch(m.time)
	call, isResult := m.answers(r.waiting)
	switch {
	case m.isAnswer():
		t.answer(r, m)
	case isResult:
		t.result(r, m, call)
	case m.Extra.Interrupt != "":
		r.Emit(m.origin(), events.Error, "", events.ErrorData{
			Error:     events.Failure{Message: ingest.Clip(ingest.Flatten(m.Content), ingest.MaxMessage), Class: strings.ToLower(m.Extra.Interrupt)},
			ErrorType: "agent_error", Common: events.Common{Raw: m.raw},
		})
	case m.Role == "user" && !m.Demo && !t.prompted:
		t.prompted = true
		r.Prompt(m.origin(), events.PromptSubmitData{Prompt: ingest.Flatten(m.Content), Common: events.Common{Raw: ingest.Without(m.raw, "role", "content")}})
	case m.Role == "":
		r.Emit(m.origin(), events.Custom, "", events.CustomData{Name: "message", Common: events.Common{Raw: m.raw}})
	default:
		t.emitMessage(r, m.origin(), m.Role, m.Content, ingest.Without(m.raw, "role", "content"))
	}
	if m.Extra.Exit != "" {
		t.info.Exit, t.info.Submission = m.Extra.Exit, m.Extra.Submission
	}
}

func (t *transcript) answer(r *run, m *message) {
	if m.Demo {
		t.emitMessage(r, m.origin(), m.Role, m.Content, ingest.Without(m.raw, "role", "content"))
		return
	}
	r.turn(m.origin())
	used, model := m.Extra.Response.Usage, m.Extra.Response.Model
	if used == nil {
		used, model = m.Usage, m.Model
	}
	data := events.ResponseCompletedData{
		Message: m.id, Model: model, Text: ingest.Flatten(m.Content), Common: events.Common{Raw: ingest.Without(m.raw, "role", "content")},
	}
	if used != nil {
		data.TokensUsed = new(used.tokens())
		r.Spend(*data.TokensUsed)
	}
	r.Emit(m.origin(), events.ResponseCompleted, "", data)
	r.waiting = nil
	for n, c := range m.calls() {
		if c.id == "" || !ingest.Usable(c.id) || r.Called(c.id) {
			c.id = m.id + "/" + strconv.Itoa(n)
		}
		p := m.origin()
		p.Block = n
		r.Call(p, c.id, events.ToolBeforeData{Tool: c.tool, Args: c.args})
		r.waiting = append(r.waiting, c.id)
		r.submitted = submits(c.tool, c.action)
	}
}

func (t *transcript) result(r *run, m *message, call string) {
	r.waiting = slices.DeleteFunc(r.waiting, func(id string) bool { return id == call })
	data := m.result()
	if !r.Result(m.origin(), call, data) {
		t.emitMessage(r, m.origin(), m.Role, m.Content, ingest.Without(m.raw, "role", "content"))
		return
	}
	r.answer = ""
	if r.submitted {
		r.answer = ingest.Flatten(m.Content)
	}
}

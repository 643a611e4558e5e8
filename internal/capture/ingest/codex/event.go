package codex

import (
	"encoding/json"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// message is what Codex tells its user interface.
type message struct {
	Type    string          `json:"type"`
	Turn    string          `json:"turn_id"`
	Call    string          `json:"call_id"`
	Message rawObject       `json:"message"`
	Images  json.RawMessage `json:"images"`
	Reason  string          `json:"reason"`
	Answer  string          `json:"last_agent_message"`
	Info    struct {
		Total usage `json:"total_token_usage"`
		Last  usage `json:"last_token_usage"`
	} `json:"info"`
}

func (s *session) event(l *line) {
	var m message
	l.decode(&m)
	switch m.Type {
	case "user_message":
		s.prompt(l, m)
	case "token_count":
		s.tokens(l, m)
	case "task_started", "turn_started":
		s.turn(l, m.Turn)
		s.custom(l, "event_msg."+m.Type)
	case "task_complete", "turn_complete", "turn_aborted":
		s.endTurn(l, m)
	case "error":
		s.failed(l, m.Message)
	case "stream_error":
		retry := true
		s.fault(l, m.Message, &retry)
	case "exec_command_end", "mcp_tool_call_end", "patch_apply_end":
		s.ended(l, m.Call)
		s.custom(l, "event_msg."+m.Type)
	default:
		s.custom(l, "event_msg."+m.Type)
	}
}

// turn opens the step of a turn that Codex tells the beginning of.
func (s *session) turn(l *line, id string) {
	p := l.place
	if id != "" && ingest.Usable(id) {
		p.ID = id
	}
	if step := s.run.Step(); step == nil || step.ID != p.ID {
		s.run.Open(p, "")
		s.asked = false
	}
	s.inTurn = true
}

func (s *session) endTurn(l *line, m message) {
	step := s.run.Within(l.place)
	if m.Answer != "" {
		step.Answer(m.Answer)
	}
	if m.Type == "turn_aborted" {
		step.Metadata = map[string]any{"interrupted": true, "reason": m.Reason}
	}
	s.custom(l, "event_msg."+m.Type)
	s.run.CloseStep()
	s.inTurn = false
}

// prompt is what the user asked: it begins a step, or belongs to one that Codex
// told the beginning of. What a user says while a turn runs belongs to it too.
func (s *session) prompt(l *line, m message) {
	text := ingest.Flatten(json.RawMessage(m.Message))
	data := events.PromptSubmitData{Prompt: text, Common: raw(ingest.Rest(l.Payload, "type", "message"))}
	step := s.run.Step()
	if step == nil || !s.inTurn {
		s.run.Prompt(l.place, data)
		s.asked = true
		return
	}
	if !s.asked {
		step.Input = ingest.Clip(text, ingest.MaxInput)
		s.asked = true
	}
	s.run.Within(l.place)
	s.run.Emit(l.place, events.PromptSubmit, "", data)
}

func (s *session) turnContext(l *line) {
	var context struct {
		Turn  string `json:"turn_id"`
		Model string `json:"model"`
	}
	l.decode(&context)
	if context.Turn != "" {
		s.turn(l, context.Turn)
	}
	if context.Model != "" && context.Model != s.model {
		if s.model != "" {
			s.run.Emit(l.place, events.ModelSwitched, "", events.ModelSwitchedData{From: s.model, To: context.Model})
		}
		s.model = context.Model
	}
	s.custom(l, l.Type)
}

// failed is a failure of the turn.
func (s *session) failed(l *line, told rawObject) {
	f := s.fault(l, told, nil)
	s.run.Within(l.place).Failure = f
}

// fault emits a failure, which retry says is tried again.
func (s *session) fault(l *line, told rawObject, retry *bool) *events.Failure {
	text := ingest.Flatten(json.RawMessage(told))
	f := events.Failure{Message: ingest.Clip(text, ingest.MaxMessage), Class: ingest.FailureClass(text + " " + ingest.Flatten(json.RawMessage(l.Error)))}
	if f.Message == "" {
		f.Message = "failed, and does not say why"
	}
	data := events.ErrorData{Error: f, Model: s.model, Retry: retry, Common: raw(l.Payload)}
	if data.Raw == nil {
		data.Raw = l.text
	}
	s.run.Within(l.place)
	s.run.Emit(l.place, events.Error, "", data)
	return &f
}

// ended remembers how a call ended, until its result comes.
func (s *session) ended(l *line, call string) {
	var told struct {
		Exit     *int      `json:"exit_code"`
		Success  *bool     `json:"success"`
		Duration rawObject `json:"duration"`
		Result   struct {
			Err json.RawMessage `json:"Err"`
			Ok  struct {
				IsError bool `json:"isError"`
			} `json:"Ok"`
		} `json:"result"`
	}
	l.decode(&told)
	if call == "" {
		return
	}
	var duration struct {
		Seconds float64 `json:"secs"`
		Nanos   float64 `json:"nanos"`
	}
	told.Duration.decode(&duration)
	end := ending{exit: told.Exit}
	end.failed = told.Success != nil && !*told.Success || told.Result.Err != nil || told.Result.Ok.IsError
	end.message = ingest.Text(told.Result.Err)
	end.took(duration.Seconds + duration.Nanos/1e9)
	s.ends[call] = end
}

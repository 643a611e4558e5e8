package codex

import (
	"cmp"
	"encoding/json"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type message struct {
	Type    string          `json:"type"`
	Turn    string          `json:"turn_id"`
	Call    string          `json:"call_id"`
	Message json.RawMessage `json:"message"`
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
	case "item_completed":
		s.completed(l)
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
		s.fault(l, m.Message, new(true))
	case "exec_command_end", "mcp_tool_call_end", "patch_apply_end":
		s.calls.ended(l, m.Call)
		s.custom(l, "event_msg."+m.Type)
	default:
		s.custom(l, "event_msg."+m.Type)
	}
}

func (s *session) turn(l *line, id string) {
	p := l.origin
	if id != "" && ingest.Usable(id) {
		p.ID = id
	}
	if step := s.run.Step(); step == nil || step.ID != p.ID {
		s.cutOff()
		s.run.Open(p, "")
		s.asked = false
	}
	s.inTurn = true
}

func (s *session) cutOff() {
	if s.run == nil {
		return
	}
	if step := s.run.Step(); step != nil && s.inTurn {
		step.Status = ""
	}
}

func (s *session) endTurn(l *line, m message) {
	step := s.run.Within(l.origin)
	if m.Answer != "" {
		step.Answer(m.Answer)
	}
	step.Status = events.StepCompleted
	if m.Type == "turn_aborted" {
		step.Status = events.StepInterrupted
		step.Metadata = map[string]any{"interrupted": true, "reason": m.Reason}
	}
	s.custom(l, "event_msg."+m.Type)
	s.run.CloseStep()
	s.inTurn = false
}

func (s *session) prompt(l *line, m message) {
	text := ingest.Flatten(m.Message)
	data := events.PromptSubmitData{Prompt: text, Common: raw(ingest.Without(l.Payload, "type", "message"))}
	s.prompted = text
	step := s.run.Step()
	if step == nil || !s.inTurn {
		s.run.Prompt(l.origin, data)
		s.asked = true
		return
	}
	if !s.asked {
		step.Input = ingest.Clip(text, ingest.MaxInput)
		s.asked = true
	}
	s.run.Within(l.origin)
	s.run.Emit(l.origin, events.PromptSubmit, "", data)
}

func (s *session) completed(l *line) {
	var event struct {
		Item struct {
			Type    string          `json:"type"`
			Content json.RawMessage `json:"content"`
		} `json:"item"`
	}
	l.decode(&event)
	if event.Item.Type != "UserMessage" {
		s.custom(l, "event_msg.item_completed")
		return
	}
	text := ingest.Flatten(event.Item.Content)
	if s.inTurn && s.asked && text == s.prompted {
		s.custom(l, "event_msg.item_completed") // also in a user_message line
		return
	}
	s.prompt(l, message{Message: event.Item.Content})
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
			s.run.Emit(l.origin, events.ModelSwitched, "", events.ModelSwitchedData{From: s.model, To: context.Model})
		}
		s.model = context.Model
	}
	s.custom(l, l.Type)
}

func (s *session) failed(l *line, message json.RawMessage) {
	s.run.Within(l.origin).Failure = s.fault(l, message, nil)
}

func (s *session) fault(l *line, message json.RawMessage, retry *bool) *events.Failure {
	text := ingest.Flatten(message)
	details := ingest.Flatten(l.Error)
	f := events.Failure{
		Message: cmp.Or(ingest.Clip(text, ingest.MaxMessage), "failed, and does not say why"),
		Class:   ingest.FailureClass(text + " " + details),
	}
	data := events.ErrorData{Error: f, Model: s.model, Retry: retry, Common: raw(l.Payload)}
	if data.Raw == nil {
		data.Raw = l.text
	}
	s.run.Within(l.origin)
	s.run.Emit(l.origin, events.Error, "", data)
	return &f
}

package otlp

import (
	"cmp"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/agents"
	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/claude"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/codex"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/dialogue"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/gemini"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type record struct {
	recordForm
	a    attributes
	raw  json.RawMessage
	id   string
	name string // name of the event, without the prefix of the tool
	tool string // claude-code, codex, gemini-cli, qwen-code; empty for other tools
	at   time.Time
}

var prefixes = map[string]string{
	"claude_code.": claude.Source, "codex.": codex.Source, "gemini_cli.": gemini.Source, "qwen-code.": dialogue.Qwen,
}

var services = map[string]string{
	"claude-code": claude.Source, "codex_cli_rs": codex.Source, "codex": codex.Source, "codex-cli": codex.Source,
	"gemini-cli": gemini.Source, "qwen-code": dialogue.Qwen,
}

func (r *reader) record(text json.RawMessage) ([]events.Event, error) {
	c := &record{raw: r.raw("record", text), id: hashOf(text)}
	if err := json.Unmarshal(text, &c.recordForm); err != nil {
		return nil, errors.New("not a log record")
	}
	c.a = asAttributes(c.Attributes)
	c.at = c.Time.Time
	if c.at.IsZero() {
		c.at = c.Observed.Time
	}
	if c.at.IsZero() {
		// Records without a time can be equal, so a number makes their ids unique.
		c.at = r.opts.Now
		c.id += "-" + strconv.Itoa(r.seen[c.id])
		r.seen[hashOf(text)]++
	}
	c.name, c.tool = nameOf(c, r.attributes.text("service.name"))
	var m made
	if c.tool == "" {
		r.foreign(&m, c)
	} else {
		r.ofTool(&m, c)
	}
	return m.list, m.err
}

func nameOf(c *record, service string) (name, of string) {
	body, _ := c.Body.value.(string)
	for _, name := range []string{c.EventName, c.a.text("event.name"), body} {
		for prefix, of := range prefixes {
			if short, ok := strings.CutPrefix(name, prefix); ok {
				return short, of
			}
		}
	}
	return cmp.Or(c.EventName, c.a.text("event.name")), services[service]
}

func (m *made) emit(r *reader, c *record, kind events.Kind, payload any, changes ...func(*events.Event)) {
	session := r.usable(c.a, sessionNames)
	e := events.Event{
		Source: r.source(), Type: kind.Type(), Time: c.at, Tenant: r.opts.Tenant, Session: session,
		ID: events.DeriveID(r.opts.Tenant, "otlp-log", c.tool, c.id, string(kind)),
	}
	switch {
	case c.tool != "":
		e.Source, e.Agent, e.Run = c.tool, c.tool, session
	case c.TraceID.isHex(16):
		e.Run = string(c.TraceID)
	default:
		e.Run = session
	}
	e.Subject, e.User = e.Run, r.usable(c.a, userNames)
	if step := c.a.text("prompt.id"); c.tool == claude.Source && ingest.Usable(step) {
		e.Step = step
	}
	if c.TraceID.isHex(16) && c.SpanID.isHex(8) {
		e.TraceParent = "00-" + string(c.TraceID) + "-" + string(c.SpanID) + "-01"
	}
	if err := e.SetData(payload); err != nil {
		m.add(e, errors.New("cannot be stored as JSON"))
		return
	}
	if err := e.Normalize(); err != nil {
		m.add(e, errors.New("cannot be stored: "+invalidOf(err)))
		return
	}
	m.add(e, nil, changes...)
}

func invalidOf(err error) string {
	if invalid, ok := errors.AsType[*events.InvalidError](err); ok {
		return invalid.Error()
	}
	return "its ids"
}

func (r *reader) foreign(m *made, c *record) {
	role, isMessage := strings.CutPrefix(c.name, "gen_ai.")
	role, hasRole := strings.CutSuffix(role, ".message")
	if isMessage && c.name == "gen_ai.choice" {
		role, hasRole = "assistant", true
	}
	if isMessage && hasRole && (c.TraceID != "" || r.usable(c.a, sessionNames) != "") {
		m.emit(r, c, events.MessageCreated, events.MessageData{Role: role, Content: encode(c.Body.value), Common: events.Common{Raw: c.raw}})
		return
	}
	r.custom(m, c)
}

func (r *reader) custom(m *made, c *record) {
	m.emit(r, c, events.Custom, events.CustomData{Name: ingest.Clip(cmp.Or(c.name, "log"), ingest.MaxInput), Common: events.Common{Raw: c.raw}})
}

func (r *reader) ofTool(m *made, c *record) {
	raw := events.Common{Raw: c.raw}
	switch {
	case r.usable(c.a, sessionNames) == "":
		r.custom(m, c)
	case c.name == "user_prompt":
		r.prompt(m, c)
	case c.name == "conversation_starts", c.name == "config", c.name == "session.start":
		m.emit(r, c, events.RunStarted, events.RunStartedData{Model: c.a.text("model"), Common: raw})
	case c.name == "tool_decision", c.name == "tool_result", c.name == "tool_call":
		r.toolRecord(m, c)
	case c.name == "api_request" && c.a.has("input_tokens", "output_tokens"), c.name == "api_response",
		c.name == "sse_event" && c.a.text("event.kind") == "response.completed":
		r.answer(m, c)
	case ends[c.name] != "":
		end := events.RunFinishedData{Reason: ends[c.name], Common: raw}
		end.SetStatus(events.RunUnknown)
		m.emit(r, c, events.RunFinished, end)
	case c.name == "api_error":
		m.emit(r, c, events.Error, events.ErrorData{
			Error: events.Failure{
				Message: ingest.Clip(c.a.text("error", "error.message", "error_message"), ingest.MaxMessage),
				Class:   c.a.text("error.type", "error_type", "status_code", "http.status_code"),
			},
			Model: c.a.text("model"), Common: raw,
		})
	default:
		r.custom(m, c)
	}
}

var ends = map[string]string{"session.end": events.ReasonEndOfLog, "conversation_finished": events.ReasonIdle}

func (r *reader) prompt(m *made, c *record) {
	text := c.a.text("prompt")
	if text == "<REDACTED>" { // by Claude Code
		text = ""
	}
	step := ""
	if c.tool == gemini.Source && r.opts.CallIDs != nil {
		step = r.opts.CallIDs.Prompt(agents.Key{Session: r.sessionKey(c), Call: ingest.PromptKey(text)}, c.id)
	}
	m.emit(r, c, events.PromptSubmit, events.PromptSubmitData{Prompt: text, Common: events.Common{Raw: c.raw}}, func(e *events.Event) {
		e.Step = cmp.Or(e.Step, step)
	})
}

func (r *reader) sessionKey(c *record) string {
	return ingest.SessionKey(r.opts.Tenant, c.tool, r.usable(c.a, sessionNames))
}

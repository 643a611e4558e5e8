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
	"github.com/hooktrail/hooktrail/internal/capture/ingest/gemini"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type record struct {
	recordForm
	a    attributes
	raw  json.RawMessage
	id   string
	name string // name of the event, without the prefix of the tool
	tool string // claude-code, codex, gemini-cli; empty for other tools
	at   time.Time
}

var prefixes = map[string]string{"claude_code.": "claude-code", "codex.": "codex", "gemini_cli.": "gemini-cli"}

var services = map[string]string{"claude-code": "claude-code", "codex_cli_rs": "codex", "codex": "codex", "codex-cli": "codex", "gemini-cli": "gemini-cli"}

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
		// Without a time, two records can be equal, so a number makes their ids unique.
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
	case c.name == "conversation_starts", c.name == "config":
		m.emit(r, c, events.RunStarted, events.RunStartedData{Model: c.a.text("model"), Common: raw})
	case c.name == "tool_decision", c.name == "tool_result", c.name == "tool_call":
		r.toolRecord(m, c)
	case c.name == "api_request" && c.a.has("input_tokens", "output_tokens"), c.name == "api_response",
		c.name == "sse_event" && c.a.text("event.kind") == "response.completed":
		r.answer(m, c)
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

// prompt adds a prompt. CallIDs gives a prompt of Gemini CLI the same step as in its hooks.
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

// callID returns the id of a call, the same as in hooks and transcripts. Gemini CLI needs CallIDs
// for it.
func (r *reader) callID(c *record, tool string, args json.RawMessage) string {
	id := c.a.text("tool_use_id", "call_id", "gen_ai.tool.call.id")
	switch {
	case id != "" && ingest.Usable(id):
		return id
	case c.tool != gemini.Source || r.opts.CallIDs == nil || len(args) == 0:
		return ""
	}
	return r.opts.CallIDs.Call(agents.Key{Session: r.sessionKey(c), Call: ingest.CallKey(tool, args)}, c.id)
}

func (r *reader) answer(m *made, c *record) {
	n := func(names ...string) int64 {
		count, _ := c.a.number(names...)
		return bounded(count)
	}
	m.emit(r, c, events.ResponseCompleted, events.ResponseCompletedData{
		Message: c.id, Model: c.a.text("model", "slug"), DurationMS: n("duration_ms"), Telemetry: true,
		TokensUsed: &events.Tokens{
			Input: n("input_tokens", "input_token_count"), Output: n("output_tokens", "output_token_count"),
			CacheRead: n("cache_read_tokens", "cached_content_token_count", "cached_token_count"), CacheCreation: n("cache_creation_tokens"),
		},
		Common: events.Common{Raw: c.raw},
	})
}

var verdicts = map[string]events.Verdict{
	"accept": events.VerdictAllow, "auto_accept": events.VerdictAllow, "modify": events.VerdictAllow, "approved": events.VerdictAllow, "approved_for_session": events.VerdictAllow,
	"reject": events.VerdictDeny, "denied": events.VerdictDeny, "abort": events.VerdictDeny,
}

func (r *reader) toolRecord(m *made, c *record) {
	name := c.a.text("tool_name", "function_name", "tool.name")
	args := c.a.content("function_args", "arguments", "tool_input", "tool_parameters")
	call := r.callID(c, name, args)
	verdict := verdicts[c.a.text("decision")]
	denied := verdict == events.VerdictDeny
	hasCall := call != ""
	if name == "" || c.name == "tool_decision" && !hasCall && !denied {
		r.custom(m, c) // a permission for an unknown call
		return
	}
	if !hasCall {
		call = c.id
	}
	paired := func(e *events.Event) { e.ToolCall = call }
	// A denied call has no result.
	isResult := c.name == "tool_result" || c.name == "tool_call" && !denied
	if c.name != "tool_result" {
		before := events.ToolBeforeData{Tool: name, Args: args, Outcome: events.Outcome{Verdict: verdict}}
		if !isResult {
			before.Raw = c.raw
		}
		m.emit(r, c, events.ToolBefore, before, paired)
		args = nil
	}
	if isResult {
		m.emit(r, c, events.ToolResult, c.result(name, args), paired)
	}
}

func (c *record) result(name string, args json.RawMessage) events.ToolResultData {
	data := events.ToolResultData{
		Tool: name, Args: args, Status: events.ToolSuccess, Result: c.a.content("output"), Common: events.Common{Raw: c.raw},
	}
	data.DurationMS, _ = c.a.number("duration_ms")
	if success, ok := c.a.truth("success"); ok && !success {
		data.Status = events.ToolError
		data.Error = &events.Failure{
			Message: ingest.Clip(c.a.text("error", "error.message"), ingest.MaxMessage), Class: c.a.text("error_type", "error.type"),
		}
		if strings.HasPrefix(data.Error.Message, "Tool execution blocked: ") { // by a hook of Gemini CLI
			data.Status, data.DeniedBy = events.ToolDenied, events.DeniedByHook
		}
	}
	return data
}

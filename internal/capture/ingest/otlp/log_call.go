package otlp

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/hooktrail/hooktrail/internal/capture/agents"
	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/dialogue"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/gemini"
	"github.com/hooktrail/hooktrail/pkg/events"
)

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

var verdicts = map[string]events.Verdict{
	"accept": events.VerdictAllow, "auto_accept": events.VerdictAllow, "modify": events.VerdictAllow, "approved": events.VerdictAllow, "approved_for_session": events.VerdictAllow,
	"reject": events.VerdictDeny, "denied": events.VerdictDeny, "abort": events.VerdictDeny,
}

func (r *reader) toolRecord(m *made, c *record) {
	name := c.a.text("tool_name", "function_name", "tool.name")
	args := c.a.content("function_args", "arguments", "tool_input", "tool_parameters")
	call := r.callID(c, name, args)
	verdict := verdicts[c.a.text("decision")]
	if name == "" || c.name == "tool_decision" && call == "" && verdict != events.VerdictDeny {
		r.custom(m, c) // a permission for an unknown call
		return
	}
	call = cmp.Or(call, c.id)
	paired := func(e *events.Event) { e.ToolCall = call }
	refused, by := c.refusal(verdict)
	if refused != "" {
		verdict = ""
	}
	isResult := c.hasResult(verdict, refused)
	if c.name != "tool_result" {
		before := events.ToolBeforeData{Tool: name, Args: args, Outcome: events.Outcome{Verdict: verdict}}
		if !isResult {
			before.Raw = c.raw
		}
		m.emit(r, c, events.ToolBefore, before, paired)
		args = nil
	}
	if isResult {
		result := c.result(name, args)
		if refused != "" {
			result.Status, result.DeniedBy = refused, by
		}
		m.emit(r, c, events.ToolResult, result, paired)
	}
}

func (c *record) hasResult(verdict events.Verdict, refused events.ToolStatus) bool {
	return c.name == "tool_result" || c.name == "tool_call" && verdict != events.VerdictDeny || refused != ""
}

func (c *record) refusal(verdict events.Verdict) (events.ToolStatus, events.DeniedBy) {
	source := c.a.text("source")
	switch {
	case verdict != events.VerdictDeny:
		return "", ""
	case source == "user_abort", c.a.text("decision") == "abort":
		return events.ToolInterrupted, ""
	case source == "user_reject", source == "user", c.tool == gemini.Source, c.tool == dialogue.Qwen:
		return events.ToolDenied, events.DeniedByUser
	case source == "config":
		return events.ToolDenied, events.DeniedByPermissions
	}
	return "", ""
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

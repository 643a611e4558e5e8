package agents

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/internal/capture/ingest/claude"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

var claudeCode = &Tool{
	name: "claude-code", read: readClaude, reply: replyClaude,
	can: map[events.Kind]power{
		events.ToolBefore: mayDeny | mayAsk, events.Approval: mayDeny,
		events.PromptSubmit: mayDeny, events.CompactBefore: mayDeny,
	},
}

func readClaude(in object, b *builder) {
	(&claudeReader{b: b, in: in, result: claudeResult}).read("prompt_id")
}

type claudeReader struct {
	b      *builder
	in     object
	name   string
	result func(in object, c toolCall) result
}

var claudeEvents = map[string]func(r *claudeReader){
	"SessionStart":       func(r *claudeReader) { r.b.sessionStarted(r.in) },
	"SessionEnd":         func(r *claudeReader) { r.b.sessionEnded(r.in) },
	"UserPromptSubmit":   (*claudeReader).prompt,
	"PreToolUse":         func(r *claudeReader) { r.call().before() },
	"PostToolUse":        func(r *claudeReader) { r.call().after(r.result(r.in, r.toolCall())) },
	"PostToolUseFailure": func(r *claudeReader) { r.call().after(claudeFailure(r.in)) },
	"PermissionRequest":  func(r *claudeReader) { r.call().approval("") },
	"PermissionDenied":   func(r *claudeReader) { r.call().denied(r.in.text("reason")) },
	"Stop":               (*claudeReader).stop,
	"StopFailure":        (*claudeReader).stopFailure,
	"PreCompact":         func(r *claudeReader) { r.b.compacts(r.in) },
	"SubagentStart":      (*claudeReader).subagent,
	"SubagentStop":       (*claudeReader).subagent,
}

func (r *claudeReader) read(stepMember string) {
	r.locate(stepMember)
	if agent := ident(r.in.text("agent_id")); agent != "" {
		r.b.scope = r.b.scope.subagent(agent)
	}
	if add, ok := claudeEvents[r.name]; ok {
		add(r)
	} else {
		r.b.custom()
	}
}

func (r *claudeReader) locate(step string) {
	r.name = ingest.Clip(cmp.Or(r.in.text("hook_event_name"), r.b.context.Event), ingest.MaxID)
	r.b.p.Event, r.b.p.Cwd = r.name, r.in.text("cwd")
	r.b.enter(r.in.text("session_id"))
	r.b.scope.step = ident(r.in.text(step))
	if t, ok := r.in.moment("logged_at", "timestamp"); ok {
		r.b.at = t
		r.b.identifyRaw(r.name)
	}
	if r.in.raw("tool_use_id", "message_id", "tool_calls") != nil || oncePerStep[r.name] && r.b.scope.step != "" {
		r.b.identifyRaw(r.name)
	}
}

// oncePerStep lists events that occur at most once in a step, so the step id identifies the
// payload.
var oncePerStep = map[string]bool{
	"UserPromptSubmit": true, "Stop": true, "SubagentStart": true, "SubagentStop": true, "SessionEnd": true, "StopFailure": true,
}

func (r *claudeReader) toolCall() toolCall {
	return toolCall{id: r.in.text("tool_use_id"), name: r.in.text("tool_name"), args: r.in.raw("tool_input")}
}

func (r *claudeReader) call() callEvents { return r.b.call(r.toolCall()) }

func (r *claudeReader) prompt() {
	r.b.prompted(r.in.text("prompt"))
	turn{r.b, r.b.scope.step}.begin()
}

func (r *claudeReader) stop() {
	r.b.stopped(r.in, r.in.text("last_assistant_message"))
	turn{r.b, r.b.scope.step}.end()
}

func (r *claudeReader) stopFailure() {
	turn{r.b, r.b.scope.step}.end()
	failure := r.in.text("error")
	message := cmp.Or(r.in.text("error_details"), r.in.text("last_assistant_message"), failure)
	r.b.failed(message, failure, "model", r.in.text("model"))
}

func (r *claudeReader) subagent() {
	sub := r.b.scope
	if sub.parentRun == "" {
		r.b.custom()
		return
	}
	r.b.scope = scope{run: sub.session, session: sub.session, step: sub.step, agent: sub.parentAgent}
	kind := r.in.text("agent_type")
	if r.name == "SubagentStart" {
		r.b.subagentStarted(sub, events.SubagentStartData{Subagent: sub.agent, Name: kind, TaskType: kind, Model: r.in.text("model")})
		return
	}
	said := r.in.text("last_assistant_message")
	r.b.subagentStopped(sub, events.SubagentStoppedData{Subagent: sub.agent, Name: kind, Status: string(events.ToolSuccess)}, said)
	r.b.event(sub, events.StepFinished, "", events.StepFinishedData{
		StepStatus: events.StepCompleted, OutputSummary: ingest.Clip(said, maxSummary),
	})
}

// claudeResult ignores an interrupt that an MCP server reports, because only Claude Code knows
// about interrupts.
func claudeResult(in object, c toolCall) result {
	r := result{output: in.raw("tool_response"), durationMS: in.number("duration_ms")}
	if response := in.object("tool_response"); response.yes("interrupted") && !claude.OfServer(c.name) {
		r.failure = &events.Failure{Message: "interrupted", Class: "interrupted"}
		r.refused = events.ToolInterrupted
	}
	return r
}

var exitLine = ingest.Pattern(`^Exit code (\d{1,9})(?:\n|$)`)

func claudeFailure(in object) result {
	text := in.text("error")
	r := result{
		output: in.raw("tool_response"), durationMS: in.number("duration_ms"),
		failure: &events.Failure{Message: ingest.Clip(text, maxSummary)},
	}
	if status, by := claude.Outcome(in.text("tool_name"), "", text); status != events.ToolError {
		r.refused, r.by = status, by
	}
	if in.yes("is_interrupt") {
		r.refused, r.by = events.ToolInterrupted, ""
	}
	if r.refused == events.ToolInterrupted {
		r.failure.Class = "interrupted"
	}
	if m := exitLine().FindStringSubmatch(text); m != nil {
		r.exit = exitCode(m[1])
	}
	return r
}

func exitCode(digits string) *int {
	n, err := strconv.Atoi(strings.TrimSpace(digits))
	if err != nil {
		return nil
	}
	return &n
}

func replyClaude(p Payload, o hooks.DocumentOutcome) Reply {
	top, special := answer{}, answer{}
	switch p.Document.Point { //nolint:exhaustive // the points at which this tool reads an answer
	case events.ToolBefore:
		special.decide(o)
		if args, changed := p.newArgs(o); changed {
			special.set("updatedInput", args)
		}
	case events.Approval:
		special.decideFor(o)
	case events.PromptSubmit, events.CompactBefore:
		top.block(o)
	case events.ToolResult:
		if now, changed := p.newResult(o); changed && p.Event == "PostToolUse" {
			special.set("updatedToolOutput", shaped(p.Document.Result, now))
		}
		if p.suppresses(o) {
			top.set("suppressOutput", true)
		}
	}
	if claudeContext[p.Document.Point] {
		special.text("additionalContext", o.Context)
	}
	top.special(p.Event, special)
	return top.reply()
}

var claudeContext = map[events.Kind]bool{
	events.ToolBefore: true, events.ToolResult: true, events.PromptSubmit: true, events.SessionStart: true, events.SubagentStart: true,
}

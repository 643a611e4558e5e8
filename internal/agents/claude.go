package agents

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// claudeCode sends snake_case members, a session, an id per call and, in newer
// versions, one per prompt. It sends no time. A sub-agent has the session of its
// parent and an agent_id.
var claudeCode = &Tool{
	name: "claude-code", read: readClaude, reply: replyClaude,
	can: map[events.Kind]power{
		events.ToolBefore: mayDeny | mayAsk, events.Approval: mayDeny,
		events.PromptSubmit: mayDeny, events.CompactBefore: mayDeny,
	},
}

func readClaude(b *build) {
	b.claudePlace("prompt_id")
	b.claudeEvent(claudeEnd)
}

// claudePlace reads what all payloads of Claude Code and Codex have.
func (b *build) claudePlace(step string) {
	b.name = clip(b.in.text("hook_event_name"), maxID)
	if b.name == "" {
		b.name = clip(b.c.Event, maxID)
	}
	b.p.Event, b.p.Cwd = b.name, b.in.text("cwd")
	b.here.session = ident(b.in.text("session_id"))
	b.here.run, b.here.step = b.here.session, ident(b.in.text(step))
	if t, ok := b.in.moment("logged_at", "timestamp"); ok {
		b.at = t
		b.identifyRaw()
	}
	if b.in.raw("tool_use_id", "message_id", "tool_calls") != nil {
		b.identifyRaw()
	}
	if onceAStep[b.name] && b.here.step != "" {
		b.identifyRaw()
	}
}

// onceAStep are the events of which a step has no two that are equal.
var onceAStep = map[string]bool{
	"UserPromptSubmit": true, "Stop": true, "SubagentStart": true, "SubagentStop": true, "SessionEnd": true, "StopFailure": true,
}

// claudeCall returns the call that a payload is about.
func (b *build) claudeCall() call {
	return call{id: b.in.text("tool_use_id"), tool: b.in.text("tool_name"), args: b.in.raw("tool_input")}
}

// claudeEvent maps an event. ended tells how a call ended that did not fail.
func (b *build) claudeEvent(ended func(b *build, c call) end) {
	outer, agent := b.here, ident(b.in.text("agent_id"))
	inner := outer
	if agent != "" {
		inner = outer.subRun(agent)
	}
	b.here = inner
	c := b.claudeCall()
	switch b.name {
	case "SessionStart":
		b.sessionStarted()
	case "SessionEnd":
		b.sessionEnded()
	case "UserPromptSubmit":
		b.prompted(b.in.text("prompt"))
	case "PreToolUse":
		b.toolBefore(c)
	case "PostToolUse":
		b.toolAfter(c, ended(b, c))
	case "PostToolUseFailure":
		b.toolAfter(c, claudeFailure(b))
	case "PermissionRequest":
		b.approvalAsked(c, "")
	case "PermissionDenied":
		b.toolDenied(c, b.in.text("reason"))
	case "Stop":
		b.stopped(b.in.text("last_assistant_message"))
	case "StopFailure":
		b.failed(firstText(b.in.text("error_details"), b.in.text("last_assistant_message"), b.in.text("error")), b.in.text("error"), "model")
	case "PreCompact":
		b.compacts()
	case "SubagentStart", "SubagentStop":
		b.here = outer
		b.claudeSubagent(inner, agent)
	default:
		b.custom()
	}
}

func (b *build) claudeSubagent(sub place, agent string) {
	kind := b.in.text("agent_type")
	switch {
	case agent == "":
		b.custom()
	case b.name == "SubagentStart":
		b.subagentStarted(sub, events.SubagentStartData{Subagent: agent, Name: kind, TaskType: kind, Model: b.in.text("model")})
	default:
		said := b.in.text("last_assistant_message")
		b.subagentStopped(sub, events.SubagentStoppedData{Subagent: agent, Name: kind, Status: string(events.ToolSuccess)}, said)
		b.event(sub, events.StepFinished, "", events.StepFinishedData{
			StepStatus: events.StepCompleted, OutputSummary: clip(said, maxSummary),
		})
	}
}

// firstText returns the first text that is not empty.
func firstText(texts ...string) string {
	for _, s := range texts {
		if s != "" {
			return s
		}
	}
	return ""
}

// claudeEnd reads the result of a call that did not fail: one that did comes as
// another event. A command that was interrupted did not succeed either.
func claudeEnd(b *build, _ call) end {
	e := end{result: b.in.raw("tool_response"), durationMS: b.in.number("duration_ms")}
	if response := b.in.object("tool_response"); response.yes("interrupted") {
		e.failure = &events.Failure{Message: "interrupted", Class: "interrupted"}
	}
	return e
}

// exitLine begins the error of a command that failed.
var exitLine = regexp.MustCompile(`^Exit code (\d{1,9})(?:\n|$)`)

func claudeFailure(b *build) end {
	text := b.in.text("error")
	e := end{
		result: b.in.raw("tool_response"), durationMS: b.in.number("duration_ms"),
		failure: &events.Failure{Message: clip(text, maxSummary)},
	}
	if b.in.yes("is_interrupt") {
		e.failure.Class = "interrupted"
	}
	if m := exitLine.FindStringSubmatch(text); m != nil {
		e.exit = exitCode(m[1])
	}
	return e
}

// exitCode returns the number that digits are.
func exitCode(digits string) *int {
	n, err := strconv.Atoi(strings.TrimSpace(digits))
	if err != nil {
		return nil
	}
	return &n
}

// replyClaude answers as Claude Code reads it: what is special to an event
// stands in hookSpecificOutput, and updatedInput is the whole input.
func replyClaude(p Payload, o hooks.DocumentOutcome) Reply {
	special := answer{}
	special.set("hookEventName", p.Event)
	top := answer{}
	switch p.Document.Point { //nolint:exhaustive // the points at which this tool heeds an answer
	case events.ToolBefore:
		if o.Verdict != hooks.None && o.Verdict != "" {
			special.set("permissionDecision", o.Verdict)
			special.text("permissionDecisionReason", o.Reason)
		}
		if args, changed := patched(p.Document.Args, o.Args); changed && o.Verdict != hooks.Deny {
			special.set("updatedInput", args)
		}
	case events.Approval:
		if d := decisionOf(o); d != nil {
			special.set("decision", d)
		}
	case events.PromptSubmit, events.CompactBefore:
		top.block(o)
	case events.ToolResult:
		if now, changed := p.newResult(o); changed && p.Event == "PostToolUse" {
			special.set("updatedToolOutput", now)
		}
	}
	if p.Document.Point != events.Approval && p.Document.Point != events.CompactBefore {
		special.text("additionalContext", o.Context)
	}
	if p.suppresses(o) {
		top.set("suppressOutput", true)
	}
	if len(special) > 1 {
		top.set("hookSpecificOutput", special)
	}
	return top.reply()
}

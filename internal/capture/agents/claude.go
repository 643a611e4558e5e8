package agents

import (
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

// claudeEvents are the events that stand for something, by their names.
var claudeEvents = map[string]func(b *build){
	"SessionStart":       (*build).sessionStarted,
	"SessionEnd":         (*build).sessionEnded,
	"UserPromptSubmit":   func(b *build) { b.prompted(b.in.text("prompt")) },
	"PreToolUse":         func(b *build) { b.toolBefore(b.claudeCall()) },
	"PostToolUse":        func(b *build) { b.toolAfter(b.claudeCall(), b.ended(b, b.claudeCall())) },
	"PostToolUseFailure": func(b *build) { b.toolAfter(b.claudeCall(), claudeFailure(b)) },
	"PermissionRequest":  func(b *build) { b.approvalAsked(b.claudeCall(), "") },
	"PermissionDenied":   func(b *build) { b.toolDenied(b.claudeCall(), b.in.text("reason")) },
	"Stop":               func(b *build) { b.stopped(b.in.text("last_assistant_message")) },
	"StopFailure":        (*build).claudeStopFailure,
	"PreCompact":         (*build).compacts,
	"SubagentStart":      (*build).claudeSubagent,
	"SubagentStop":       (*build).claudeSubagent,
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
	b.ended = ended
	if agent := ident(b.in.text("agent_id")); agent != "" {
		b.here = b.here.subRun(agent)
	}
	if do, ok := claudeEvents[b.name]; ok {
		do(b)
	} else {
		b.custom()
	}
}

func (b *build) claudeStopFailure() {
	failure := b.in.text("error")
	b.failed(firstText(b.in.text("error_details"), b.in.text("last_assistant_message"), failure), failure, "model")
}

// claudeSubagent is the start or the end of a sub-agent, told in its own name.
func (b *build) claudeSubagent() {
	sub := b.here
	if sub.parentRun == "" {
		b.custom()
		return
	}
	b.here = place{run: sub.session, session: sub.session, step: sub.step, agent: sub.parentAgent}
	kind := b.in.text("agent_type")
	if b.name == "SubagentStart" {
		b.subagentStarted(sub, events.SubagentStartData{Subagent: sub.agent, Name: kind, TaskType: kind, Model: b.in.text("model")})
		return
	}
	said := b.in.text("last_assistant_message")
	b.subagentStopped(sub, events.SubagentStoppedData{Subagent: sub.agent, Name: kind, Status: string(events.ToolSuccess)}, said)
	b.event(sub, events.StepFinished, "", events.StepFinishedData{
		StepStatus: events.StepCompleted, OutputSummary: clip(said, maxSummary),
	})
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
var exitLine = pattern(`^Exit code (\d{1,9})(?:\n|$)`)

func claudeFailure(b *build) end {
	text := b.in.text("error")
	e := end{
		result: b.in.raw("tool_response"), durationMS: b.in.number("duration_ms"),
		failure: &events.Failure{Message: clip(text, maxSummary)},
	}
	if b.in.yes("is_interrupt") {
		e.failure.Class = "interrupted"
	}
	if m := exitLine().FindStringSubmatch(text); m != nil {
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
	top, special := answer{}, answer{}
	switch p.Document.Point { //nolint:exhaustive // the points at which this tool heeds an answer
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

// claudeContext are the points at which Claude Code and Codex take a context.
var claudeContext = map[events.Kind]bool{
	events.ToolBefore: true, events.ToolResult: true, events.PromptSubmit: true, events.SessionStart: true, events.SubagentStart: true,
}

package agents

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/policy"
)

// copilotCLI sends one of two shapes, depending on how the event is written in
// its configuration: camelCase members without the name of the event, or
// snake_case members with it, and then other names of the tools. Both have the
// time, by which payloads of the two shapes are known to be one. It gives calls
// no id. A sub-agent has a session of its own, and names the one of its parent.
var copilotCLI = &Tool{
	name: "copilot-cli", read: readCopilot, reply: replyCopilot,
	can: map[events.Kind]power{events.ToolBefore: mayDeny | mayAsk, events.Approval: mayDeny},
}

// copilotNames are the names of events, without case, that the two shapes spell
// differently.
var copilotNames = map[string]string{"userpromptsubmitted": "userpromptsubmit", "agentstop": "stop"}

// shapeSnake is the shape that other tools of the maker read as well.
const shapeSnake = "snake"

func readCopilot(b *build) {
	b.p.Event = clip(firstText(b.in.text("hook_event_name", "hookName"), b.c.Event), maxID)
	b.name = strings.ToLower(firstText(b.p.Event, copilotGuess(b.in)))
	if name, ok := copilotNames[b.name]; ok {
		b.name = name
	}
	if b.in.raw("hook_event_name") != nil {
		b.p.shape = shapeSnake
	}
	b.p.Cwd = b.in.text("cwd")
	b.copilotPlace()
	if do, ok := copilotEvents[b.name]; ok {
		do(b)
	} else {
		b.custom()
	}
}

// copilotEvents are the events that stand for something, by their names without
// case.
var copilotEvents = map[string]func(b *build){
	"sessionstart":       (*build).sessionStarted,
	"sessionend":         (*build).sessionEnded,
	"userpromptsubmit":   (*build).copilotPrompt,
	"pretooluse":         func(b *build) { b.toolBefore(b.copilotCall()) },
	"posttooluse":        func(b *build) { b.toolAfter(b.copilotCall(), copilotEnd(b, b.copilotCall())) },
	"posttoolusefailure": (*build).copilotFailure,
	"permissionrequest":  func(b *build) { b.approvalAsked(b.copilotCall(), "") },
	"stop":               func(b *build) { b.stopped("") },
	"precompact":         (*build).compacts,
	"erroroccurred":      (*build).copilotErrorOccurred,
	"subagentstart":      (*build).copilotSubagent,
	"subagentstop":       (*build).copilotSubagent,
}

func (b *build) copilotCall() call {
	return call{tool: b.in.text("toolName", "tool_name"), args: copilotArgs(b.in)}
}

func (b *build) copilotPrompt() {
	b.here.step = b.stepOf()
	b.prompted(b.in.text("prompt"))
}

func (b *build) copilotFailure() {
	b.toolAfter(b.copilotCall(), end{failure: &events.Failure{Message: clip(copilotError(b.in), maxSummary)}})
}

func (b *build) copilotErrorOccurred() {
	where := copilotErrors[b.in.text("errorContext", "error_context")]
	b.failed(copilotError(b.in), b.in.object("error").text("name"), where)
}

// copilotErrors are where errors come from.
var copilotErrors = map[string]string{"model_call": "model", "tool_execution": "tool"}

// copilotPlace reads where a payload comes from, and what it is known by: what
// both shapes of it have.
func (b *build) copilotPlace() {
	b.here.session = ident(b.in.text("sessionId", "session_id"))
	b.here.run = b.here.session
	agent, parent := ident(b.in.text("agentId", "agent_id")), ident(b.in.text("parentAgentId", "parent_agent_id"))
	if agent != "" && parent != "" { // some events name the session of the parent as theirs
		b.here = place{run: agent, session: agent, agent: agent, parentAgent: b.tool.name, parentRun: parent}
	}
	t, ok := b.in.moment("timestamp")
	if !ok {
		return
	}
	b.at = t
	b.identify(
		b.name, b.here.run, agent, t.Format("2006-01-02T15:04:05.000"),
		policy.CanonicalTool(b.copilotCall().tool), canonicalJSON(copilotArgs(b.in)),
		b.in.text("prompt"), b.in.text("transformedPrompt", "transformed_prompt"), copilotError(b.in), b.in.text("message"),
	)
}

// copilotArgs returns the arguments of a call, which older versions send as
// text.
func copilotArgs(in object) json.RawMessage {
	args := in.raw("toolArgs", "tool_input", "toolInput")
	if text, ok := textOf(args); ok && objectOf(json.RawMessage(text)) != nil {
		if args, ok := storable([]byte(text)); ok {
			return args
		}
	}
	return args
}

// copilotError returns the text of an error, which is a string or an object.
func copilotError(in object) string {
	return firstText(in.text("error"), in.object("error").text("message"))
}

// copilotGuess returns the name of the event of a payload that has none, as of
// one whose configuration does not hand it on.
func copilotGuess(in object) string {
	for _, guess := range copilotGuesses {
		if !slices.ContainsFunc(guess.members, func(name string) bool { return in.raw(name) == nil }) {
			return guess.event
		}
	}
	return ""
}

// copilotGuesses are the members that only payloads of one event have. The first
// that fits counts.
var copilotGuesses = []struct {
	event   string
	members []string
}{
	{"postToolUse", []string{"toolResult"}},
	{"postToolUseFailure", []string{"toolName", "error"}},
	{"preToolUse", []string{"toolArgs"}},
	{"userPromptTransformed", []string{"transformedPrompt"}},
	{"errorOccurred", []string{"errorContext"}},
	{"preCompact", []string{"trigger"}},
	{"subagentStop", []string{"agentName", "stopReason"}},
	{"subagentStart", []string{"agentName"}},
	{"agentStop", []string{"stopReason"}},
	{"sessionStart", []string{"source"}},
	{"userPromptSubmitted", []string{"prompt"}},
	{"sessionEnd", []string{"reason"}},
}

// copilotSubagent is the start or the end of a sub-agent, as its parent tells.
func (b *build) copilotSubagent() {
	if b.here.parentRun == "" {
		b.custom()
		return
	}
	sub := b.here
	agent := sub.agent
	kind := b.in.text("agentType", "agent_type")
	name := firstText(b.in.text("agentDisplayName", "agent_display_name"), b.in.text("agentName", "agent_name"))
	b.here = place{run: sub.parentRun, session: sub.parentRun, agent: b.tool.name}
	if b.name == "subagentstart" {
		b.subagentStarted(sub, events.SubagentStartData{Subagent: agent, Name: name, TaskType: kind})
		return
	}
	b.subagentStopped(sub, events.SubagentStoppedData{Subagent: agent, Name: name, Status: string(events.ToolSuccess)},
		b.in.text("response", "last_assistant_message"))
}

// copilotExit ends the result of a command that ran to its end.
var copilotExit = pattern(`<shellId: [^\n>]* completed with exit code (-?\d{1,9})>$`)

// copilotEnd reads the result of a call. A command that failed is a success of
// the tool, whose last line tells the exit status.
func copilotEnd(b *build, c call) end {
	result := b.in.object("toolResult", "tool_result")
	e := end{result: b.in.raw("toolResult", "tool_result")}
	text := strings.TrimRight(result.text("textResultForLlm", "text_result_for_llm"), " \r\n")
	typ := result.text("resultType", "result_type")
	if policy.CanonicalTool(c.tool) == policy.ToolShell {
		if m := copilotExit().FindStringSubmatch(text); m != nil {
			e.exit = exitCode(m[1])
			text = strings.TrimSuffix(text, m[0])
		}
	}
	if typ != "success" && typ != "" {
		e.failure = &events.Failure{Message: clip(firstText(copilotError(result), text), maxSummary), Class: clip(typ, maxID)}
	} else if e.exit != nil && *e.exit != 0 {
		e.failure = &events.Failure{Message: clip(strings.TrimSpace(text), maxSummary)}
	}
	return e
}

// replyCopilot answers as Copilot CLI reads it. The snake_case shape is that of
// another tool of the maker, whose form of an answer goes along.
func replyCopilot(p Payload, o hooks.DocumentOutcome) Reply {
	top, special := answer{}, answer{}
	switch p.Document.Point { //nolint:exhaustive // the points at which this tool heeds an answer
	case events.ToolBefore:
		top.decide(o)
		special.decide(o)
		if args, changed := p.newArgs(o); changed {
			top.set("modifiedArgs", args)
			special.set("updatedInput", args)
		}
	case events.Approval:
		top = decisionOf(o)
	case events.SessionStart, events.SubagentStart, events.PromptSubmit, events.ToolResult:
		top.text("additionalContext", o.Context)
		special.text("additionalContext", o.Context)
	}
	if p.shape == shapeSnake {
		top.special(p.Event, special)
	}
	return top.reply()
}

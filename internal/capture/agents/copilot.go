package agents

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/toolname"
)

var copilotCLI = &Tool{
	name: "copilot-cli", read: readCopilot, reply: replyCopilot,
	can: map[events.Kind]power{events.ToolBefore: mayDeny | mayAsk, events.Approval: mayDeny},
}

var copilotNames = map[string]string{"userpromptsubmitted": "userpromptsubmit", "agentstop": "stop"}

const shapeSnake = "snake"

func readCopilot(in object, b *builder) { (&copilotReader{b: b, in: in}).read() }

type copilotReader struct {
	b    *builder
	in   object
	name string
}

func (r *copilotReader) read() {
	r.b.p.Event = ingest.Clip(cmp.Or(r.in.text("hook_event_name", "hookName"), r.b.context.Event), ingest.MaxID)
	r.name = strings.ToLower(cmp.Or(r.b.p.Event, copilotGuess(r.in)))
	if name, ok := copilotNames[r.name]; ok {
		r.name = name
	}
	if r.in.raw("hook_event_name") != nil {
		r.b.p.shape = shapeSnake
	}
	r.b.p.Cwd = r.in.text("cwd")
	r.locate()
	if add, ok := copilotEvents[r.name]; ok {
		add(r)
	} else {
		r.b.custom()
	}
}

var copilotEvents = map[string]func(r *copilotReader){
	"sessionstart":       func(r *copilotReader) { r.b.sessionStarted(r.in) },
	"sessionend":         func(r *copilotReader) { r.b.sessionEnded(r.in) },
	"userpromptsubmit":   (*copilotReader).prompt,
	"pretooluse":         func(r *copilotReader) { r.call().before() },
	"posttooluse":        func(r *copilotReader) { r.call().after(r.result()) },
	"posttoolusefailure": (*copilotReader).failure,
	"permissionrequest":  func(r *copilotReader) { r.call().approval("") },
	"stop":               (*copilotReader).stopped,
	"precompact":         func(r *copilotReader) { r.b.compacts(r.in) },
	"erroroccurred":      (*copilotReader).errorOccurred,
	"subagentstart":      (*copilotReader).subagent,
	"subagentstop":       (*copilotReader).subagent,
}

func (r *copilotReader) toolCall() toolCall {
	return toolCall{name: r.in.text("toolName", "tool_name"), args: copilotArgs(r.in)}
}

func (r *copilotReader) call() callEvents { return r.b.call(r.toolCall()) }

func (r *copilotReader) prompt() {
	r.b.begin(r.in.text("prompt"))
	r.b.prompted(r.in.text("prompt"))
}

func (r *copilotReader) stopped() {
	r.b.latest()
	r.b.stopped(r.in, "")
}

func (r *copilotReader) failure() {
	r.call().after(result{failure: &events.Failure{Message: ingest.Clip(copilotError(r.in), maxSummary)}})
}

func (r *copilotReader) errorOccurred() {
	where := copilotErrors[r.in.text("errorContext", "error_context")]
	r.b.failed(copilotError(r.in), r.in.object("error").text("name"), where, r.in.text("model"))
}

var copilotErrors = map[string]string{"model_call": "model", "tool_execution": "tool"}

func (r *copilotReader) locate() {
	r.b.enter(r.in.text("sessionId", "session_id"))
	agent, parent := ident(r.in.text("agentId", "agent_id")), ident(r.in.text("parentAgentId", "parent_agent_id"))
	if agent != "" && parent != "" { // some events of a sub-agent have the session id of the parent
		r.b.scope = scope{run: agent, session: agent, agent: agent, parentAgent: r.b.tool.name, parentRun: parent}
	}
	t, ok := r.in.moment("timestamp")
	if !ok {
		return
	}
	r.b.at = t
	r.b.identify(
		r.name, r.b.scope.run, agent, t.Format("2006-01-02T15:04:05.000"),
		toolname.Canonical(r.toolCall().name), ingest.CanonicalJSON(copilotArgs(r.in)),
		r.in.text("prompt"), r.in.text("transformedPrompt", "transformed_prompt"), copilotError(r.in), r.in.text("message"),
	)
}

// Older versions of Copilot CLI send the arguments of a tool call as JSON in a string.
func copilotArgs(in object) json.RawMessage {
	args := in.raw("toolArgs", "tool_input", "toolInput")
	if text, ok := textOf(args); ok && objectOf(json.RawMessage(text)) != nil {
		if args, ok := storable([]byte(text)); ok {
			return args
		}
	}
	return args
}

func copilotError(in object) string {
	return cmp.Or(in.text("error"), in.object("error").text("message"))
}

func copilotGuess(in object) string {
	for _, guess := range copilotGuesses {
		if !slices.ContainsFunc(guess.members, func(name string) bool { return in.raw(name) == nil }) {
			return guess.event
		}
	}
	return ""
}

// Some payloads of Copilot CLI do not name their event. The first entry whose members are all in
// the payload decides.
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

func (r *copilotReader) subagent() {
	if r.b.scope.parentRun == "" {
		r.b.custom()
		return
	}
	sub := r.b.scope
	agent := sub.agent
	kind := r.in.text("agentType", "agent_type")
	name := cmp.Or(r.in.text("agentDisplayName", "agent_display_name"), r.in.text("agentName", "agent_name"))
	r.b.scope = scope{run: sub.parentRun, session: sub.parentRun, agent: r.b.tool.name}
	if r.name == "subagentstart" {
		r.b.subagentStarted(sub, events.SubagentStartData{Subagent: agent, Name: name, TaskType: kind})
		return
	}
	r.b.subagentStopped(sub, events.SubagentStoppedData{Subagent: agent, Name: name, Status: string(events.ToolSuccess)},
		r.in.text("response", "last_assistant_message"))
}

var copilotExit = ingest.Pattern(`<shellId: [^\n>]* completed with exit code (-?\d{1,9})>$`)

// result reads the exit status from the output, because Copilot CLI reports a success for every
// command that ran.
func (r *copilotReader) result() result {
	in := r.in.object("toolResult", "tool_result")
	e := result{output: r.in.raw("toolResult", "tool_result")}
	text := strings.TrimRight(in.text("textResultForLlm", "text_result_for_llm"), " \r\n")
	typ := in.text("resultType", "result_type")
	if toolname.Canonical(r.toolCall().name) == toolname.Shell {
		if m := copilotExit().FindStringSubmatch(text); m != nil {
			e.exit = exitCode(m[1])
			text = strings.TrimSuffix(text, m[0])
		}
	}
	if typ != "success" && typ != "" {
		e.failure = &events.Failure{Message: ingest.Clip(cmp.Or(copilotError(in), text), maxSummary), Class: ingest.Clip(typ, ingest.MaxID)}
		e.refused, e.by = copilotRefusal(typ, e.failure.Message)
	} else if e.exit != nil && *e.exit != 0 {
		e.failure = &events.Failure{Message: ingest.Clip(strings.TrimSpace(text), maxSummary)}
	}
	return e
}

func copilotRefusal(typ, message string) (events.ToolStatus, events.DeniedBy) {
	switch {
	case typ == "rejected":
		return events.ToolDenied, events.DeniedByUser
	case typ == "denied" && strings.HasPrefix(message, "Denied by preToolUse hook"):
		return events.ToolDenied, events.DeniedByHook
	case typ == "denied":
		return events.ToolDenied, events.DeniedByPermissions
	}
	return "", ""
}

// replyCopilot also writes the decision to hookSpecificOutput, because another tool of the same
// vendor reads only that member.
func replyCopilot(p Payload, o hooks.DocumentOutcome) Reply {
	top, special := answer{}, answer{}
	switch p.Document.Point { //nolint:exhaustive // the points at which this tool reads an answer
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

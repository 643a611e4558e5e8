package agents

import (
	"strings"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/policy"
)

// openCode has no hook commands but plugins, and ours sends what its hooks get:
// {"input":…,"output":…}, or the event itself for those of its bus. Calls have
// an id, messages too, and a sub-agent is a session whose parent is told when it
// is created. What runs of a tool throws has no tool.execute.after; the bus
// tells of it.
//
// The answers are ours as well: {"deny":"why"}, upon which the plugin throws, and
// {"output":{…}}, the members of which it puts into the output of the hook.
var openCode = &Tool{
	name: "opencode", read: readOpenCode, reply: replyOpenCode,
	can: map[events.Kind]power{events.ToolBefore: mayDeny, events.Approval: mayDeny | mayAsk},
}

func readOpenCode(b *build) {
	b.name = strings.TrimPrefix(firstText(b.c.Event, openCodeGuess(b.in)), "event.")
	if b.name == "event" || b.name == "" {
		b.name = b.in.text("type")
	}
	b.name = clip(b.name, maxID)
	b.p.Event = b.name
	if b.in.raw("properties") != nil {
		b.openCodeBus(b.in.object("properties"))
		return
	}
	in, out := b.in.object("input"), b.in.object("output")
	b.openCodeSession(in.text("sessionID"))
	b.p.Cwd = in.text("cwd")
	c := call{id: in.text("callID"), tool: in.text("tool"), args: in.raw("args")}
	if c.id != "" {
		b.identifyRaw()
	}
	switch b.name {
	case "chat.message":
		b.openCodePrompt(out)
	case "tool.execute.before":
		c.args = out.raw("args")
		b.toolBefore(c)
		b.openCodeDenial(c)
	case "tool.execute.after":
		b.openCodeAfter(c, out)
	case "permission.ask":
		b.approvalAsked(call{id: c.id, tool: firstText(in.text("type"), c.tool), args: in.raw("metadata")}, in.text("title"))
	default:
		b.custom()
	}
}

// openCodeGuess returns the name of a payload that comes without one.
func openCodeGuess(in object) string {
	input, output := in.object("input"), in.object("output")
	switch {
	case in.raw("properties") != nil:
		return in.text("type")
	case input.raw("callID") != nil && output.raw("args") != nil:
		return "tool.execute.before"
	case input.raw("callID") != nil && output.raw("title") != nil:
		return "tool.execute.after"
	case output.raw("message") != nil:
		return "chat.message"
	case output.raw("status") != nil:
		return "permission.ask"
	}
	return ""
}

// openCodeSession says whose run the payload is of.
func (b *build) openCodeSession(id string) {
	b.here.session = ident(id)
	b.here.run = b.here.session
}

// openCodePrompt is a message of the user, or of the parent.
func (b *build) openCodePrompt(out object) {
	message := out.object("message")
	b.here.step = ident(message.text("id"))
	if b.here.step != "" {
		b.identifyRaw()
	}
	if t, ok := message.object("time").moment("created"); ok {
		b.at = t
	}
	var texts []string
	for _, part := range listOf(out.raw("parts")) {
		if p := objectOf(part); p.text("type") == "text" {
			texts = append(texts, p.text("text"))
		}
	}
	b.prompted(strings.Join(texts, "\n"))
}

// openCodeDenial has Pairs told of a denial, so that the error which the bus
// reports then is known for what it is.
func (b *build) openCodeDenial(c call) {
	if pairs, k := b.c.Pairs, b.openCodeKey(c); pairs != nil {
		b.p.denied = func() { pairs.Denied(k, ident(c.id)) }
	}
}

func (b *build) openCodeKey(c call) Key { return Key{Session: b.session(), Call: "id " + c.id} }

// openCodeAfter is the result of a call. One of a sub-agent names its session.
func (b *build) openCodeAfter(c call, out object) {
	meta := out.object("metadata")
	e := end{result: b.in.raw("output")}
	if exit, told := meta["exit"]; told && policy.CanonicalTool(c.tool) == policy.ToolShell {
		e.exit = exitCode(string(exit))
		if e.exit == nil || *e.exit != 0 {
			e.failure = &events.Failure{Message: clip(strings.TrimSpace(out.text("output")), maxSummary)}
		}
		if e.exit == nil { // null: it was killed, at the latest when its time was up
			e.failure.Class = "interrupted"
		}
	}
	b.toolAfter(c, e)
	if sub := ident(meta.text("sessionId")); sub != "" {
		b.event(b.here, events.SubagentStopped, ident(c.id), events.SubagentStoppedData{
			Subagent: sub, Name: clip(out.text("title"), maxSummary), Model: meta.object("model").text("modelID"),
			Status: string(events.ToolSuccess),
		})
		b.event(place{run: sub, session: sub, agent: b.tool.name, parentRun: b.here.run}, events.RunFinished, "",
			events.RunFinishedData{Success: true})
	}
}

// openCodeBus is an event of the bus, which has an id.
func (b *build) openCodeBus(in object) {
	if b.in.text("id") != "" {
		b.identifyRaw()
	}
	info, part := in.object("info"), in.object("part")
	b.openCodeSession(firstText(in.text("sessionID"), info.text("sessionID"), info.text("id"), part.text("sessionID")))
	if t, ok := in.moment("time"); ok {
		b.at = t
	}
	switch b.name {
	case "session.created":
		b.openCodeCreated(info)
	case "session.idle":
		b.stopped("")
	case "session.deleted":
		b.sessionEnded()
	case "session.error":
		b.openCodeError(in.object("error"))
	case "message.updated":
		b.openCodeMessage(info)
	case "message.part.updated":
		b.openCodePart(part)
	default:
		b.custom()
	}
}

// openCodeCreated is a new session: a run, or that of a sub-agent.
func (b *build) openCodeCreated(info object) {
	b.p.Cwd = info.text("directory")
	if t, ok := info.object("time").moment("created"); ok {
		b.at = t
	}
	parent := ident(info.text("parentID"))
	if parent == "" {
		b.sessionStarted()
		return
	}
	sub := b.here
	sub.parentRun = parent
	b.here = place{run: parent, session: parent, agent: b.tool.name}
	b.subagentStarted(sub, events.SubagentStartData{
		Subagent: sub.run, Name: clip(info.text("title"), maxSummary), TaskType: info.text("agent"),
		Model: info.object("model").text("id"),
	})
}

func (b *build) openCodeError(failure object) {
	name := failure.text("name")
	b.failed(firstText(failure.object("data").text("message"), failure.text("message"), name), name, "")
}

// openCodeMessage is a message as it stands now. One of the assistant that is
// complete is one API call.
func (b *build) openCodeMessage(info object) {
	if info.text("role") != "assistant" || info.raw("finish") == nil && info.object("time").raw("completed") == nil {
		b.main(b.here, events.MessageUpdated, "", events.MessageData{Message: info.text("id"), Role: info.text("role")})
		b.p.Document = hooks.Document{} // the point is about what messages say
		return
	}
	b.here.step = ident(info.text("parentID"))
	if t, ok := info.object("time").moment("completed", "created"); ok {
		b.at = t
	}
	tokens := info.object("tokens")
	cache := tokens.object("cache")
	b.main(b.here, events.ResponseCompleted, "", events.ResponseCompletedData{
		Message: info.text("id"), Model: info.text("modelID"), StopReason: info.text("finish"),
		TokensUsed: &events.Tokens{
			Input: tokens.number("input"), Output: tokens.number("output") + tokens.number("reasoning"),
			CacheRead: cache.number("read"), CacheCreation: cache.number("write"),
		},
	})
}

// openCodePart is a piece of a message. One of a call that threw is its result,
// unless it threw because we denied it.
func (b *build) openCodePart(part object) {
	state := part.object("state")
	c := call{id: part.text("callID"), tool: part.text("tool"), args: state.raw("input")}
	if part.text("type") != "tool" || state.text("status") != "error" || c.id == "" ||
		b.c.Pairs != nil && b.c.Pairs.IsDenied(b.openCodeKey(c)) {
		b.custom()
		return
	}
	e := end{failure: &events.Failure{Message: clip(state.text("error"), maxSummary)}}
	from, known := state.object("time").moment("start")
	if to, ok := state.object("time").moment("end"); ok && known {
		e.durationMS = max(0, to.Sub(from).Milliseconds())
	}
	b.toolAfter(c, e)
	b.p.Decides = false // the bus takes no answer
}

func replyOpenCode(p Payload, o hooks.DocumentOutcome) Reply {
	top, output := answer{}, answer{}
	switch p.Document.Point { //nolint:exhaustive // the points at which the plugin heeds an answer
	case events.ToolBefore:
		if o.Verdict == hooks.Deny {
			top.set("deny", o.Reason)
		} else if args, changed := p.newArgs(o); changed {
			output.set("args", args)
		}
	case events.Approval:
		if o.Verdict != hooks.None && o.Verdict != "" {
			output.set("status", o.Verdict)
		}
	case events.ToolResult:
		if now, changed := p.newResult(o); changed {
			text := firstText(objectOf(now.Raw()).text("output"), plain(now))
			output.set("output", strings.TrimRight(text+"\n\n"+o.Context, "\n"))
		} else if o.Context != "" {
			before := objectOf(p.Document.Result.Raw()).text("output")
			output.set("output", strings.TrimLeft(before+"\n\n"+o.Context, "\n"))
		}
	}
	if len(output) > 0 {
		top.set("output", output)
	}
	return top.reply()
}

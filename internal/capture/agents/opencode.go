package agents

import (
	"cmp"
	"strings"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/toolname"
)

var openCode = &Tool{
	name: "opencode", read: readOpenCode, reply: replyOpenCode,
	can: map[events.Kind]power{events.ToolBefore: mayDeny, events.Approval: mayDeny | mayAsk},
}

func readOpenCode(in object, b *builder) { (&openCodeReader{b: b, in: in}).read() }

type openCodeReader struct {
	b    *builder
	in   object
	name string
}

func (r *openCodeReader) read() {
	r.name = strings.TrimPrefix(cmp.Or(r.b.context.Event, openCodeGuess(r.in)), "event.")
	if r.name == "event" || r.name == "" {
		r.name = r.in.text("type")
	}
	r.name = ingest.Clip(r.name, ingest.MaxID)
	r.b.p.Event = r.name
	if r.in.raw("properties") != nil {
		r.bus(r.in.object("properties"))
		return
	}
	in, out := r.in.object("input"), r.in.object("output")
	r.b.enter(in.text("sessionID"))
	r.b.p.Cwd = in.text("cwd")
	c := toolCall{id: in.text("callID"), name: in.text("tool"), args: in.raw("args")}
	if c.id != "" {
		r.b.identifyRaw(r.name)
	}
	switch r.name {
	case "chat.message":
		r.prompt(out)
	case "tool.execute.before":
		c.args = out.raw("args")
		r.b.call(c).before()
		r.denial(c)
	case "tool.execute.after":
		r.after(c, out)
	case "permission.ask":
		r.b.call(toolCall{id: c.id, name: cmp.Or(in.text("type"), c.name), args: in.raw("metadata")}).approval(in.text("title"))
	default:
		r.b.custom()
	}
}

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

func (r *openCodeReader) prompt(out object) {
	message := out.object("message")
	r.b.scope.step = ident(message.text("id"))
	if r.b.scope.step != "" {
		r.b.identifyRaw(r.name)
		if ids := r.b.context.CallIDs; ids != nil {
			ids.Began(r.b.session(), r.b.scope.step)
		}
	}
	if t, ok := message.object("time").moment("created"); ok {
		r.b.at = t
	}
	var texts []string
	for _, part := range listOf(out.raw("parts")) {
		if p := objectOf(part); p.text("type") == "text" {
			texts = append(texts, p.text("text"))
		}
	}
	r.b.prompted(strings.Join(texts, "\n"))
}

// denial prepares to record that the call was denied, because OpenCode later reports it as failed
// instead.
func (r *openCodeReader) denial(c toolCall) {
	if ids, k := r.b.context.CallIDs, r.key(c); ids != nil {
		r.b.p.denied = func() { ids.Denied(k, ident(c.id)) }
	}
}

func (r *openCodeReader) key(c toolCall) Key { return Key{Session: r.b.session(), Call: "id " + c.id} }

func (r *openCodeReader) after(c toolCall, out object) {
	meta := out.object("metadata")
	e := result{output: r.in.raw("output")}
	if exit, ok := meta["exit"]; ok && toolname.Canonical(c.name) == toolname.Shell {
		e.exit = exitCode(string(exit))
		if e.exit == nil || *e.exit != 0 {
			e.failure = &events.Failure{Message: ingest.Clip(strings.TrimSpace(out.text("output")), maxSummary)}
		}
		if e.exit == nil { // null: the command was killed
			e.failure.Class = "interrupted"
			if strings.Contains(out.text("output"), "User aborted the command") {
				e.refused = events.ToolInterrupted
			}
		}
	}
	r.b.call(c).after(e)
	if sub := ident(meta.text("sessionId")); sub != "" {
		r.b.event(r.b.scope, events.SubagentStopped, ident(c.id), events.SubagentStoppedData{
			Subagent: sub, Name: ingest.Clip(out.text("title"), maxSummary), Model: meta.object("model").text("modelID"),
			Status: string(events.ToolSuccess),
		})
		r.b.event(scope{run: sub, session: sub, agent: r.b.tool.name, parentRun: r.b.scope.run}, events.RunFinished, "",
			events.RunFinishedData{Success: true})
	}
}

func (r *openCodeReader) bus(in object) {
	if r.in.text("id") != "" {
		r.b.identifyRaw(r.name)
	}
	info, part := in.object("info"), in.object("part")
	r.b.enter(cmp.Or(in.text("sessionID"), info.text("sessionID"), info.text("id"), part.text("sessionID")))
	if t, ok := in.moment("time"); ok {
		r.b.at = t
	}
	switch r.name {
	case "session.created":
		r.created(info)
	case "session.idle":
		r.idle()
	case "session.deleted":
		r.b.sessionEnded(r.in)
	case "session.error":
		r.error(in.object("error"))
	case "message.updated":
		r.message(info)
	case "message.part.updated":
		r.messagePart(part)
	default:
		r.b.custom()
	}
}

// idle ends the run with an unknown status, because OpenCode reports no end and the run can
// continue later.
func (r *openCodeReader) idle() {
	run := r.b.scope
	r.b.latest()
	r.b.stopped(r.in, "")
	data := events.RunFinishedData{Reason: events.ReasonIdle}
	data.SetStatus(events.RunUnknown)
	r.b.event(run, events.RunFinished, "", data)
}

func (r *openCodeReader) created(info object) {
	r.b.p.Cwd = info.text("directory")
	if t, ok := info.object("time").moment("created"); ok {
		r.b.at = t
	}
	parent := ident(info.text("parentID"))
	if parent == "" {
		r.b.sessionStarted(r.in)
		return
	}
	sub := r.b.scope
	sub.parentRun = parent
	r.b.scope = scope{run: parent, session: parent, agent: r.b.tool.name}
	r.b.subagentStarted(sub, events.SubagentStartData{
		Subagent: sub.run, Name: ingest.Clip(info.text("title"), maxSummary), TaskType: info.text("agent"),
		Model: info.object("model").text("id"),
	})
}

func (r *openCodeReader) error(failure object) {
	name := failure.text("name")
	r.b.failed(cmp.Or(failure.object("data").text("message"), failure.text("message"), name), name, "", r.in.text("model"))
}

func (r *openCodeReader) message(info object) {
	if info.text("role") != "assistant" || info.raw("finish") == nil && info.object("time").raw("completed") == nil {
		r.b.main(r.b.scope, events.MessageUpdated, "", events.MessageData{Message: info.text("id"), Role: info.text("role")})
		r.b.withoutHooks() // hooks of this point need the text of the message
		return
	}
	r.b.scope.step = ident(info.text("parentID"))
	if t, ok := info.object("time").moment("completed", "created"); ok {
		r.b.at = t
	}
	tokens := info.object("tokens")
	cache := tokens.object("cache")
	r.b.main(r.b.scope, events.ResponseCompleted, "", events.ResponseCompletedData{
		Message: info.text("id"), Model: info.text("modelID"), StopReason: info.text("finish"),
		TokensUsed: &events.Tokens{
			Input: tokens.number("input"), Output: tokens.number("output") + tokens.number("reasoning"),
			CacheRead: cache.number("read"), CacheCreation: cache.number("write"),
		},
	})
}

func (r *openCodeReader) messagePart(part object) {
	state := part.object("state")
	c := toolCall{id: part.text("callID"), name: part.text("tool"), args: state.raw("input")}
	if part.text("type") != "tool" || state.text("status") != "error" || c.id == "" ||
		r.b.context.CallIDs != nil && r.b.context.CallIDs.IsDenied(r.key(c)) {
		r.b.custom()
		return
	}
	e := result{failure: &events.Failure{Message: ingest.Clip(state.text("error"), maxSummary)}}
	e.refused, e.by = ingest.OpenCodeRefusal(state.text("error"))
	from, timed := state.object("time").moment("start")
	if to, ok := state.object("time").moment("end"); ok && timed {
		e.durationMS = max(0, to.Sub(from).Milliseconds())
	}
	r.b.call(c).after(e)
	r.b.p.Decides = false // the bus reads no answer
}

func replyOpenCode(p Payload, o hooks.DocumentOutcome) Reply {
	top, output := answer{}, answer{}
	switch p.Document.Point { //nolint:exhaustive // the points at which the plugin reads an answer
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
			text := cmp.Or(objectOf(now.Raw()).text("output"), plain(now))
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

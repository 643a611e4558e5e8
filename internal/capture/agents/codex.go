package agents

import (
	"cmp"
	"strings"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/toolname"
)

var codex = &Tool{
	name: "codex", read: readCodex, reply: replyCodex,
	can: map[events.Kind]power{
		events.ToolBefore: mayDeny, events.Approval: mayDeny, events.PromptSubmit: mayDeny, events.CompactBefore: mayDeny,
	},
}

func readCodex(in object, b *builder) {
	if in.text("hook_event_name") == "" && in.text("type") != "" { // a payload for the notify program of Codex
		b.enter(in.text("thread-id"))
		b.scope.step = ident(in.text("turn-id"))
		b.p.Event, b.p.Cwd = ingest.Clip(in.text("type"), ingest.MaxID), in.text("cwd")
		if b.scope.step != "" {
			b.identifyRaw(b.p.Event)
		}
		b.custom()
		return
	}
	(&claudeReader{b: b, in: in, result: codexResult}).read("turn_id")
}

var codexExits = ingest.Pattern(`^(?:Exit code: |Process exited with code )(-?\d{1,9})$`)

const codexHeader = 6

func codexResult(in object, c toolCall) result {
	raw := in.raw("tool_response")
	e := result{output: raw, durationMS: in.number("duration_ms")}
	text, isText := textOf(raw)
	response := objectOf(raw)
	if meta := response.object("metadata"); meta.raw("exit_code") != nil {
		e.exit = exitCode(string(meta.raw("exit_code")))
		text = response.text("output")
	} else if response.raw("exit_code") != nil {
		e.exit = exitCode(string(response.raw("exit_code")))
		text = cmp.Or(response.text("stderr"), response.text("output"))
	} else if isText {
		e.exit, text = codexExit(text)
	}
	switch {
	case response.yes("isError"): // from the tool of an MCP server
		e.failure = &events.Failure{Message: ingest.Clip(contentText(response.raw("content")), maxSummary)}
	case e.exit != nil && *e.exit != 0:
		e.failure = &events.Failure{Message: ingest.Clip(strings.TrimSpace(text), maxSummary)}
	case e.exit == nil && isText && toolname.Canonical(c.name) == toolname.Shell:
		command, _ := hooks.FromRaw(c.args).Text("command")
		if complaint, exit := complaintOf(command, text); complaint != "" {
			e.failure, e.exit = &events.Failure{Message: ingest.Clip(complaint, maxSummary)}, exit
		}
	}
	return e
}

func codexExit(text string) (*int, string) {
	head, output, ok := strings.Cut(text, "\nOutput:\n")
	if !ok || strings.Count(head, "\n") > codexHeader {
		return nil, text
	}
	for line := range strings.Lines(head) {
		if m := codexExits().FindStringSubmatch(strings.TrimRight(line, "\r\n")); m != nil {
			return exitCode(m[1]), output
		}
	}
	return nil, text
}

// replyCodex sends only what Codex understands, because Codex takes anything else for a failure of
// the hook.
func replyCodex(p Payload, o hooks.DocumentOutcome) Reply {
	top, special := answer{}, answer{}
	switch p.Document.Point { //nolint:exhaustive // the points at which this tool reads an answer
	case events.ToolBefore:
		if args, changed := p.newArgs(o); changed {
			special.set("permissionDecision", hooks.Allow)
			special.set("updatedInput", args)
		} else if o.Verdict == hooks.Deny {
			special.decide(o)
		}
	case events.Approval:
		special.decideFor(o)
	case events.PromptSubmit:
		top.block(o)
	case events.CompactBefore:
		if o.Verdict == hooks.Deny {
			top.set("continue", false)
			top.text("stopReason", o.Reason)
		}
	case events.ToolResult:
		if now, changed := p.newResult(o); changed {
			top.block(hooks.DocumentOutcome{Verdict: hooks.Deny, Reason: plain(now)})
		}
	}
	if claudeContext[p.Document.Point] {
		special.text("additionalContext", o.Context)
	}
	top.special(p.Event, special)
	return top.reply()
}

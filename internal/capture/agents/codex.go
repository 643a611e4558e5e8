package agents

import (
	"strings"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/policy"
)

// codex sends what Claude Code sends, with a turn_id in the place of the
// prompt_id. The result of a command is its output and nothing else; so much
// the program in it has to tell itself whether it failed.
var codex = &Tool{
	name: "codex", read: readCodex, reply: replyCodex,
	can: map[events.Kind]power{
		events.ToolBefore: mayDeny, events.Approval: mayDeny, events.PromptSubmit: mayDeny, events.CompactBefore: mayDeny,
	},
}

func readCodex(b *build) {
	if b.in.text("hook_event_name") == "" && b.in.text("type") != "" { // of the notify program
		b.here.session = ident(b.in.text("thread-id"))
		b.here.run, b.here.step = b.here.session, ident(b.in.text("turn-id"))
		b.p.Event, b.p.Cwd = clip(b.in.text("type"), maxID), b.in.text("cwd")
		b.name = b.p.Event
		if b.here.step != "" {
			b.identifyRaw()
		}
		b.custom()
		return
	}
	b.claudePlace("turn_id")
	b.claudeEvent(codexEnd)
}

// codexExits are the lines in which versions of Codex say how a command ended.
var codexExits = pattern(`^(?:Exit code: |Process exited with code )(-?\d{1,9})$`)

// codexHeader are how many lines stand before the output of a command at most.
const codexHeader = 6

// codexEnd reads the result of a call: the exit status where the text has one,
// else what the failing program complained of.
func codexEnd(b *build, c call) end {
	raw := b.in.raw("tool_response")
	e := end{result: raw, durationMS: b.in.number("duration_ms")}
	text, isText := textOf(raw)
	response := objectOf(raw)
	if meta := response.object("metadata"); meta.raw("exit_code") != nil {
		e.exit = exitCode(string(meta.raw("exit_code")))
		text = response.text("output")
	} else if response.raw("exit_code") != nil {
		e.exit = exitCode(string(response.raw("exit_code")))
		text = firstText(response.text("stderr"), response.text("output"))
	} else if isText {
		e.exit, text = codexExit(text)
	}
	switch {
	case response.yes("isError"): // of an MCP server's tool
		e.failure = &events.Failure{Message: clip(contentText(response.raw("content")), maxSummary)}
	case e.exit != nil && *e.exit != 0:
		e.failure = &events.Failure{Message: clip(strings.TrimSpace(text), maxSummary)}
	case e.exit == nil && isText && policy.CanonicalTool(c.tool) == policy.ToolShell:
		command, _ := hooks.FromRaw(c.args).Text("command")
		if complaint, exit := complaintOf(command, text); complaint != "" {
			e.failure, e.exit = &events.Failure{Message: clip(complaint, maxSummary)}, exit
		}
	}
	return e
}

// codexExit returns the exit status in the lines before the output of a
// command, and the output.
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

// replyCodex answers as Codex reads it, which takes an answer with a member that
// it does not know, an ask, or an allow that changes nothing for a failure of
// the hook.
func replyCodex(p Payload, o hooks.DocumentOutcome) Reply {
	top, special := answer{}, answer{}
	switch p.Document.Point { //nolint:exhaustive // the points at which this tool heeds an answer
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

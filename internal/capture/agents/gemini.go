package agents

import (
	"encoding/json"
	"strings"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/policy"
)

// geminiCLI sends snake_case members, a session and the time, and neither an id
// of a call nor one of a turn. It cannot ask a person: it takes the answer "ask"
// for consent.
var geminiCLI = &Tool{
	name: "gemini-cli", read: readGemini, reply: replyGemini,
	can: map[events.Kind]power{events.ToolBefore: mayDeny, events.PromptSubmit: mayDeny},
}

func readGemini(b *build) {
	b.name = clip(firstText(b.in.text("hook_event_name"), b.c.Event), maxID)
	b.p.Event, b.p.Cwd = b.name, b.in.text("cwd")
	b.here.session = ident(b.in.text("session_id"))
	b.here.run = b.here.session
	if t, ok := b.in.moment("timestamp"); ok {
		b.at = t
		b.identifyRaw()
	}
	c := call{tool: b.in.text("tool_name"), args: b.in.raw("tool_input")}
	switch b.name {
	case "SessionStart":
		b.sessionStarted()
	case "SessionEnd":
		b.sessionEnded()
	case "BeforeAgent":
		b.here.step = b.stepOf()
		b.prompted(b.in.text("prompt"))
	case "AfterAgent":
		b.stopped(b.in.text("prompt_response"))
	case "BeforeTool":
		b.toolBefore(c)
	case "AfterTool":
		b.toolAfter(c, geminiEnd(b, c))
	case "BeforeModel":
		b.geminiRequest()
	case "AfterModel":
		b.geminiResponse()
	case "PreCompress":
		b.compacts()
	default:
		b.custom()
	}
}

// stepOf returns the id of the step that a prompt begins, where the tool has
// none. Other events of the step do not know it; internal/evidence/runtree places them by
// their time.
func (b *build) stepOf() string {
	if b.mark == "" {
		return ""
	}
	return "step-" + b.mark[:16]
}

// geminiRequest is a request to the model, with the history as far as it is text.
func (b *build) geminiRequest() {
	request := b.in.object("llm_request")
	n := len(listOf(request.raw("messages")))
	b.main(b.here, events.LLMRequest, "", events.HistoryData{Before: n, After: n, Model: request.text("model")})
	b.p.Document = hooks.Document{} // the point is about messages, of which hooks here see the text alone
}

// geminiResponse is a piece of what the model answers. The last one, which has
// the reason for its end, counts the tokens of all.
func (b *build) geminiResponse() {
	response := b.in.object("llm_response")
	var why string
	for _, candidate := range listOf(response.raw("candidates")) {
		why = firstText(why, objectOf(candidate).text("finishReason"))
	}
	if why == "" || b.mark == "" {
		b.custom()
		return
	}
	usage := response.object("usageMetadata")
	data := events.ResponseCompletedData{
		Message: "answer-" + b.mark[:16], Model: b.in.object("llm_request").text("model"), StopReason: why,
		Text: clip(response.text("text"), maxSummary),
	}
	if usage != nil {
		cached := usage.number("cachedContentTokenCount")
		data.TokensUsed = &events.Tokens{
			Input:     max(0, usage.number("promptTokenCount")-cached),
			Output:    usage.number("candidatesTokenCount") + usage.number("thoughtsTokenCount"),
			CacheRead: cached,
		}
	}
	b.main(b.here, events.ResponseCompleted, "", data)
}

// geminiTrailer are the lines behind the output of a command: the last of them
// first. The exit status is left out where it is zero.
var (
	geminiTrailer = pattern(`^(?:</untrusted_context>|Process Group PGID: .*|Background PIDs: .*|Signal: .*)$`)
	geminiExit    = pattern(`^Exit Code: (\d{1,9})$`)
	geminiOutput  = pattern(`(?s)^(?:<untrusted_context>\n)?(?:Command: .*\nDirectory: [^\n]*\n)?Output: (.*)$`)
)

// geminiEnd reads the result of a call: whatever went wrong stands in
// llmContent, and in error for tools that could not run at all.
func geminiEnd(b *build, c call) end {
	response := b.in.object("tool_response")
	e := end{result: b.in.raw("tool_response")}
	text := contentText(response.raw("llmContent"))
	if failure := response.raw("error"); failure != nil {
		told := objectOf(failure)
		message, _ := textOf(failure)
		e.failure = &events.Failure{
			Message: clip(firstText(told.text("message"), message, text), maxSummary), Class: clip(told.text("type"), maxID),
		}
	}
	if policy.CanonicalTool(c.tool) != policy.ToolShell {
		return e
	}
	exit, output := geminiShell(text)
	e.exit = exit
	if exit != nil && *exit != 0 && e.failure == nil {
		e.failure = &events.Failure{Message: clip(output, maxSummary)}
	}
	return e
}

// geminiShell returns the exit status of a command and its output.
func geminiShell(text string) (*int, string) {
	m := geminiOutput().FindStringSubmatch(text)
	if m == nil {
		return nil, text
	}
	output := strings.TrimRight(m[1], "\n")
	for {
		i := strings.LastIndexByte(output, '\n')
		last := output[i+1:]
		if exit := geminiExit().FindStringSubmatch(last); exit != nil && i >= 0 {
			return exitCode(exit[1]), output[:i]
		}
		if i < 0 || !geminiTrailer().MatchString(last) {
			return nil, output
		}
		output = output[:i]
	}
}

// replyGemini answers as Gemini CLI reads it. What is denied of a result is its
// text, in the place of which the reason goes to the model.
func replyGemini(p Payload, o hooks.DocumentOutcome) Reply {
	top, special := answer{}, answer{}
	switch p.Document.Point { //nolint:exhaustive // the points at which this tool heeds an answer
	case events.ToolBefore:
		if args, changed := p.newArgs(o); changed {
			special.set("tool_input", args)
		}
		top.deny(o)
	case events.PromptSubmit:
		top.deny(o)
		special.text("additionalContext", o.Context)
	case events.SessionStart:
		special.text("additionalContext", o.Context)
	case events.ToolResult:
		if now, changed := p.newResult(o); changed {
			top.deny(hooks.DocumentOutcome{Verdict: hooks.Deny, Reason: geminiPlain(now)})
		}
		if p.suppresses(o) {
			top.set("suppressOutput", true)
		}
		special.text("additionalContext", o.Context)
	}
	top.special(p.Event, special)
	return top.reply()
}

// deny sets what Gemini CLI knows a denial by.
func (a answer) deny(o hooks.DocumentOutcome) {
	if o.Verdict == hooks.Deny {
		a.set("decision", hooks.Deny)
		a.text("reason", o.Reason)
	}
}

// geminiPlain returns the text of a result for the model.
func geminiPlain(result hooks.JSON) string {
	if text := contentText(objectOf(result.Raw()).raw("llmContent")); text != "" {
		return text
	}
	return plain(result)
}

// contentText returns the text of content: a string, or parts.
func contentText(content json.RawMessage) string {
	if text, ok := textOf(content); ok {
		return text
	}
	parts := listOf(content)
	if parts == nil && content != nil {
		parts = []json.RawMessage{content}
	}
	var texts []string
	for _, part := range parts {
		text, ok := textOf(part)
		if !ok {
			text = objectOf(part).text("text")
		}
		if text != "" {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n")
}

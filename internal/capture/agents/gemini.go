package agents

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
	"github.com/hooktrail/hooktrail/pkg/hooks/toolname"
)

// mayAsk is not set, because Gemini CLI treats the answer "ask" as an allow.
var geminiCLI = &Tool{
	name: "gemini-cli", read: readGemini, reply: replyGemini,
	can: map[events.Kind]power{events.ToolBefore: mayDeny, events.PromptSubmit: mayDeny},
}

func readGemini(in object, b *builder) { (&geminiReader{b: b, in: in}).read() }

type geminiReader struct {
	b    *builder
	in   object
	name string
}

func (r *geminiReader) read() {
	r.name = ingest.Clip(cmp.Or(r.in.text("hook_event_name"), r.b.context.Event), ingest.MaxID)
	r.b.p.Event, r.b.p.Cwd = r.name, r.in.text("cwd")
	r.b.enter(r.in.text("session_id"))
	if t, ok := r.in.moment("timestamp"); ok {
		r.b.at = t
		r.b.identifyRaw(r.name)
	}
	c := toolCall{name: r.in.text("tool_name"), args: r.in.raw("tool_input")}
	switch r.name {
	case "SessionStart":
		r.b.sessionStarted(r.in)
	case "SessionEnd":
		r.b.sessionEnded(r.in)
	case "BeforeAgent":
		r.b.begin(r.in.text("prompt"))
		r.b.prompted(r.in.text("prompt"))
	case "AfterAgent":
		r.b.latest()
		r.b.stopped(r.in, r.in.text("prompt_response"))
	case "BeforeTool":
		r.b.call(c).before()
	case "AfterTool":
		r.b.call(c).after(geminiResult(r.in, c))
	case "BeforeModel":
		r.request()
	case "AfterModel":
		r.response()
	case "PreCompress":
		r.compress()
	default:
		r.b.custom()
	}
}

// compress ignores automatic compactions, because Gemini CLI announces one before each request,
// even if none follows.
func (r *geminiReader) compress() {
	if r.in.text("trigger") == "auto" {
		r.b.custom()
		return
	}
	r.b.compacts(r.in)
}

func (r *geminiReader) request() {
	request := r.in.object("llm_request")
	n := len(listOf(request.raw("messages")))
	r.b.main(r.b.scope, events.LLMRequest, "", events.HistoryData{Before: n, After: n, Model: request.text("model")})
	r.b.withoutHooks() // no hooks, because they need whole messages and the payload has only texts
}

func (r *geminiReader) response() {
	response := r.in.object("llm_response")
	var why string
	for _, candidate := range listOf(response.raw("candidates")) {
		why = cmp.Or(why, objectOf(candidate).text("finishReason"))
	}
	if why == "" || r.b.identity == "" {
		r.b.custom()
		return
	}
	usage := response.object("usageMetadata")
	data := events.ResponseCompletedData{
		Message: "answer-" + r.b.identity[:16], Model: r.in.object("llm_request").text("model"), StopReason: why,
		Text: ingest.Clip(response.text("text"), maxSummary),
	}
	if usage != nil {
		cached := usage.number("cachedContentTokenCount")
		data.TokensUsed = &events.Tokens{
			Input:     max(0, usage.number("promptTokenCount")-cached),
			Output:    usage.number("candidatesTokenCount") + usage.number("thoughtsTokenCount"),
			CacheRead: cached,
		}
	}
	r.b.main(r.b.scope, events.ResponseCompleted, "", data)
}

// Gemini CLI prints these lines around the output of a command, except after success.
var (
	geminiTrailer = ingest.Pattern(`^(?:Exit Code: \(none\)|</untrusted_context>|Process Group PGID: .*|Background PIDs: .*|Signal: .*)$`)
	geminiExit    = ingest.Pattern(`^Exit Code: (\d{1,9})$`)
	geminiOutput  = ingest.Pattern(`(?s)^(?:<untrusted_context>\n)?(?:Command: .*\nDirectory: [^\n]*\n)?Output: (.*)$`)
)

func geminiResult(in object, c toolCall) result {
	response := in.object("tool_response")
	e := result{output: in.raw("tool_response")}
	text := contentText(response.raw("llmContent"))
	if failure := response.raw("error"); failure != nil {
		details := objectOf(failure)
		message, _ := textOf(failure)
		e.failure = &events.Failure{
			Message: ingest.Clip(cmp.Or(details.text("message"), message, text), maxSummary), Class: ingest.Clip(details.text("type"), ingest.MaxID),
		}
	}
	if toolname.Canonical(c.name) != toolname.Shell {
		return e
	}
	if strings.HasPrefix(text, "Command was cancelled by user before it could complete") {
		e.failure, e.refused = &events.Failure{Message: ingest.Clip(text, maxSummary), Class: "interrupted"}, events.ToolInterrupted
	}
	exit, killed, output := geminiShell(text)
	e.exit = exit
	if (killed || exit != nil && *exit != 0) && e.failure == nil {
		e.failure = &events.Failure{Message: ingest.Clip(output, maxSummary)}
	}
	return e
}

func geminiShell(text string) (exit *int, killed bool, output string) {
	m := geminiOutput().FindStringSubmatch(text)
	if m == nil {
		return nil, false, text
	}
	output = strings.TrimRight(m[1], "\n")
	for {
		i := strings.LastIndexByte(output, '\n')
		last := output[i+1:]
		if exit := geminiExit().FindStringSubmatch(last); exit != nil && i >= 0 {
			return exitCode(exit[1]), false, output[:i]
		}
		if i < 0 || !geminiTrailer().MatchString(last) {
			return nil, killed, output
		}
		if signal, ok := strings.CutPrefix(last, "Signal: "); ok {
			killed = signal != "(none)"
		}
		output = output[:i]
	}
}

// replyGemini sends a changed result as a denial whose reason is the new text. Gemini CLI has no
// other way to change a result.
func replyGemini(p Payload, o hooks.DocumentOutcome) Reply {
	top, special := answer{}, answer{}
	switch p.Document.Point { //nolint:exhaustive // the points at which this tool reads an answer
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

func (a answer) deny(o hooks.DocumentOutcome) {
	if o.Verdict == hooks.Deny {
		a.set("decision", hooks.Deny)
		a.text("reason", o.Reason)
	}
}

func geminiPlain(result hooks.JSON) string {
	if text := contentText(objectOf(result.Raw()).raw("llmContent")); text != "" {
		return text
	}
	return plain(result)
}

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

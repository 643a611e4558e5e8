package amplifier

import (
	"encoding/json"
	"strconv"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// translate maps a line by its event.
func (g *log) translate(r *run, l *line) {
	switch l.Event {
	case "session:start", "session:resume", "session:fork", "session:end":
		g.session(r, l)
	case "prompt:submit":
		r.answered = false
		r.Prompt(l.place(), events.PromptSubmitData{Prompt: l.Prompt, Common: l.common()})
	case "llm:request", "provider:request":
		r.turn(l.place())
		var shown []json.RawMessage
		_ = json.Unmarshal(l.Messages, &shown) // a count is told where there is one
		r.Emit(l.place(), events.LLMRequest, "", events.HistoryData{
			Before: len(shown), After: len(shown), Model: l.Model, Common: l.common(),
		})
	case "llm:response":
		g.response(r, l)
	case "provider:response":
		if r.answered {
			g.custom(r, l)
		} else {
			g.response(r, l)
		}
	case "provider:error":
		g.failed(r, l)
	case "tool:pre", "tool:post", "tool:error":
		g.tool(r, l)
	default:
		g.other(r, l)
	}
}

// session maps how a session begins and ends.
func (g *log) session(r *run, l *line) {
	r.ended = l.Event == "session:end"
	from := map[string]string{"session:start": "startup", "session:resume": "resume", "session:fork": "fork"}[l.Event]
	if r.ended {
		r.CloseStep()
		r.Emit(l.place(), events.SessionEnded, "", events.SessionEndedData{
			Reason: l.Reason, DurationMS: ingest.Number(l.DurationMS), Common: l.common(),
		})
		return
	}
	if parent := g.runs[l.Parent]; from == "fork" && parent != nil && parent != r {
		parent.Emit(l.place(), events.SubagentStart, "", events.SubagentStartData{Subagent: l.Session, Name: l.Agent, Model: l.Model})
	}
	r.Emit(l.place(), events.SessionStart, "", events.SessionStartData{From: from, Model: l.Model, Common: l.common()})
}

// response maps an answer of the model.
func (g *log) response(r *run, l *line) {
	if l.Status != "" && l.Status != "ok" && l.Status != "success" {
		g.failed(r, l)
		return
	}
	if r.answered {
		r.turn(l.place()) // the request is not in the log
	}
	s := r.Within(l.place())
	s.Failure = nil
	r.answered = true
	r.responses++
	data := events.ResponseCompletedData{
		Message: "response-" + strconv.Itoa(r.responses), Model: l.Model, StopReason: l.Stop,
		DurationMS: ingest.Number(l.DurationMS), Common: l.common(),
	}
	if l.Usage != nil {
		tokens := l.Usage.tokens()
		data.TokensUsed = &tokens
		r.Spend(tokens)
	}
	r.Emit(l.place(), events.ResponseCompleted, "", data)
}

// failed maps a call of a model that failed. Its step did, unless an answer
// comes after it.
func (g *log) failed(r *run, l *line) {
	message := problem(l.Error)
	if message == "" {
		message = l.Status
	}
	f := events.Failure{Message: ingest.Clip(message, ingest.MaxMessage), Class: ingest.FailureClass(message)}
	if f.Class == "" {
		f.Class = "api_error"
	}
	r.Within(l.place()).Failure = &f
	r.Emit(l.place(), events.Error, "", events.ErrorData{Error: f, ErrorType: "api_error", Model: l.Model, Common: l.common()})
}

// tool maps a tool call and its result.
func (g *log) tool(r *run, l *line) {
	if l.Event != "tool:pre" {
		if !r.Result(l.place(), r.call(l), l.result()) {
			g.custom(r, l)
		}
		return
	}
	id := l.Call
	if id == "" {
		id = l.id
	}
	if !r.Call(l.place(), id, events.ToolBeforeData{Tool: l.Tool, Args: l.Input, Common: l.common()}) {
		g.custom(r, l)
		return
	}
	r.waiting = append(r.waiting, waiting{id, l.Tool})
}

// verdicts are what approvals come to.
var verdicts = map[string]events.Verdict{
	"approval:required": events.VerdictAsk, "approval:granted": events.VerdictAllow, "approval:denied": events.VerdictDeny,
}

func (g *log) other(r *run, l *line) {
	switch l.Event {
	case "content_block:end":
		if text := ingest.Text(ingest.Members(l.Block)["text"]); text != "" && ingest.Text(ingest.Members(l.Block)["type"]) == "text" {
			r.Within(l.place()).Answer(text)
		}
		r.Emit(l.place(), events.MessageCreated, "", events.MessageData{Message: l.id, Role: "assistant", Content: l.Block, Common: l.common()})
	case "context:pre_compact":
		r.Emit(l.place(), events.CompactBefore, "", events.CompactBeforeData{
			Trigger: l.Reason, Tokens: ingest.Number(l.Tokens), Common: l.common(),
		})
	case "approval:required", "approval:granted", "approval:denied":
		r.Emit(l.place(), events.Approval, l.Call, events.ApprovalData{
			Tool: l.Tool, Args: l.Input, Prompt: l.Prompt, Common: l.common(),
			Outcome: events.Outcome{Verdict: verdicts[l.Event], Reason: l.Reason},
		})
	case "cancel:completed":
		r.cancelled = true
		g.custom(r, l)
	default:
		g.custom(r, l)
	}
}

// custom keeps a line that has no kind of its own.
func (g *log) custom(r *run, l *line) {
	r.Emit(l.place(), events.Custom, "", events.CustomData{Name: l.name(), Common: l.common()})
}

package amplifier

import (
	"cmp"
	"encoding/json"
	"strconv"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

func (g *log) translate(r *run, l *line) {
	switch l.Event {
	case "session:start", "session:resume", "session:fork", "session:end":
		g.session(r, l)
	case "prompt:submit":
		r.answered = false
		r.Prompt(l.origin(), events.PromptSubmitData{Prompt: l.Prompt, Common: l.common()})
	case "llm:request", "provider:request":
		r.turn(l.origin())
		var shown []json.RawMessage
		_ = json.Unmarshal(l.Messages, &shown) // without a list the count is 0
		r.Emit(l.origin(), events.LLMRequest, "", events.HistoryData{
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

func (g *log) session(r *run, l *line) {
	r.ended = l.Event == "session:end"
	from := map[string]string{"session:start": "startup", "session:resume": "resume", "session:fork": "fork"}[l.Event]
	if r.ended {
		r.CloseStep()
		r.Emit(l.origin(), events.SessionEnded, "", events.SessionEndedData{
			Reason: l.Reason, DurationMS: ingest.Number(l.DurationMS), Common: l.common(),
		})
		return
	}
	if parent := g.runs[l.Parent]; from == "fork" && parent != nil && parent != r {
		parent.Emit(l.origin(), events.SubagentStart, "", events.SubagentStartData{Subagent: l.Session, Name: l.Agent, Model: l.Model})
	}
	r.Emit(l.origin(), events.SessionStart, "", events.SessionStartData{From: from, Model: l.Model, Common: l.common()})
}

func (g *log) response(r *run, l *line) {
	if l.Status != "" && l.Status != "ok" && l.Status != "success" {
		g.failed(r, l)
		return
	}
	if r.answered {
		r.turn(l.origin()) // the request is not in the log
	}
	s := r.Within(l.origin())
	s.Failure = nil
	r.answered = true
	r.responses++
	data := events.ResponseCompletedData{
		Message: "response-" + strconv.Itoa(r.responses), Model: l.Model, StopReason: l.Stop,
		DurationMS: ingest.Number(l.DurationMS), Common: l.common(),
	}
	if l.Usage != nil {
		data.TokensUsed = new(l.Usage.tokens())
		r.Spend(*data.TokensUsed)
	}
	r.Emit(l.origin(), events.ResponseCompleted, "", data)
}

func (g *log) failed(r *run, l *line) {
	message := cmp.Or(problem(l.Error), l.Status)
	f := events.Failure{Message: ingest.Clip(message, ingest.MaxMessage), Class: cmp.Or(ingest.FailureClass(message), "api_error")}
	r.Within(l.origin()).Failure = &f
	r.Emit(l.origin(), events.Error, "", events.ErrorData{Error: f, ErrorType: "api_error", Model: l.Model, Common: l.common()})
}

func (g *log) tool(r *run, l *line) {
	if l.Event != "tool:pre" {
		if !r.Result(l.origin(), r.call(l), l.result()) {
			g.custom(r, l)
		}
		return
	}
	id := cmp.Or(l.Call, l.id)
	if !r.Call(l.origin(), id, events.ToolBeforeData{Tool: l.Tool, Args: l.Input, Common: l.common()}) {
		g.custom(r, l)
		return
	}
	r.waiting = append(r.waiting, waiting{id, l.Tool})
}

var verdicts = map[string]events.Verdict{
	"approval:required": events.VerdictAsk, "approval:granted": events.VerdictAllow, "approval:denied": events.VerdictDeny,
}

func (g *log) other(r *run, l *line) {
	switch l.Event {
	case "content_block:end":
		if text := ingest.Text(ingest.Members(l.Block)["text"]); text != "" && ingest.Text(ingest.Members(l.Block)["type"]) == "text" {
			r.Within(l.origin()).Answer(text)
		}
		r.Emit(l.origin(), events.MessageCreated, "", events.MessageData{Message: l.id, Role: "assistant", Content: l.Block, Common: l.common()})
	case "context:pre_compact":
		r.Emit(l.origin(), events.CompactBefore, "", events.CompactBeforeData{
			Trigger: l.Reason, Tokens: ingest.Number(l.Tokens), Common: l.common(),
		})
	case "approval:required", "approval:granted", "approval:denied":
		r.Emit(l.origin(), events.Approval, l.Call, events.ApprovalData{
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

func (g *log) custom(r *run, l *line) {
	r.Emit(l.origin(), events.Custom, "", events.CustomData{Name: l.name(), Common: l.common()})
}

package otlp

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

type class int

const (
	unknown class = iota
	chain         // a span that groups other spans, such as a workflow or a whole run
	agent
	model
	tool
)

var classes = map[string]map[string]class{
	"openinference.span.kind": {
		"tool": tool, "agent": agent, "llm": model, "embedding": model, "retriever": model, "reranker": model, "chain": chain,
	},
	"gen_ai.operation.name": {
		"execute_tool": tool, "invoke_agent": agent, "invoke_workflow": chain, "chat": model, "generate_content": model,
		"text_completion": model, "embeddings": model, "retrieval": model,
	},
	"langfuse.observation.type": {
		"tool": tool, "agent": agent, "generation": model, "embedding": model, "retriever": model, "chain": chain,
	},
	"traceloop.span.kind": {"tool": tool, "agent": agent, "workflow": chain},
}

var inOrder = []string{"openinference.span.kind", "gen_ai.operation.name", "langfuse.observation.type", "traceloop.span.kind"}

// classOf ignores token counts, because a span around several model calls has their sum.
func classOf(a attributes, isRoot bool) class {
	for _, name := range inOrder {
		if c, ok := classes[name][strings.ToLower(a.text(name))]; ok {
			return c
		}
	}
	if c := classOfSDK(a); c != unknown {
		return c
	}
	hasModel := a.has("gen_ai.request.model", "gen_ai.response.model", "llm.model_name", "llm.request.model")
	switch {
	case a.has("gen_ai.tool.name", "gen_ai.tool.call.id"):
		return tool
	case a.has("gen_ai.agent.name", "agent_name") && !hasModel:
		return agent
	case hasModel, a.has("gen_ai.system", "gen_ai.provider.name"),
		a.under("gen_ai.prompt", "gen_ai.completion", "gen_ai.input.messages", "gen_ai.output.messages"):
		return model
	case isRoot && (a.has(sessionNames...) || a.under("gen_ai.")):
		return chain
	}
	return unknown
}

func classOfSDK(a attributes) class {
	name, _, _ := strings.Cut(a.text("ai.operationId", "operation.name"), " ")
	operation, ok := strings.CutPrefix(name, "ai.")
	switch {
	case !ok:
		return unknown
	case operation == "toolCall":
		return tool
	case strings.Contains(operation, ".do"), operation == "embed", operation == "embedMany":
		return model
	case strings.HasPrefix(operation, "generate"), strings.HasPrefix(operation, "stream"):
		return agent
	}
	return unknown
}

var sessionNames = []string{
	"gen_ai.conversation.id", "session.id", "langfuse.session.id", "conversation.id",
	"traceloop.association.properties.session_id", "ai.telemetry.metadata.sessionId", "thread_id",
}

var userNames = []string{"user.id", "enduser.id", "langfuse.user.id", "gen_ai.request.user"}

type span struct {
	spanForm
	a     attributes
	class class
	raw   json.RawMessage
	text  json.RawMessage // the span without its resource and scope

	failure *events.Failure
}

func (r *reader) span(text json.RawMessage) ([]events.Event, error) {
	s := &span{text: text, raw: r.raw("span", text)}
	if err := json.Unmarshal(text, &s.spanForm); err != nil {
		return nil, errors.New("not a span")
	}
	switch {
	case !s.TraceID.isHex(16):
		return nil, errors.New("no trace id of 16 bytes")
	case !s.SpanID.isHex(8):
		return nil, errors.New("no span id of 8 bytes")
	}
	if s.Start.IsZero() {
		s.Start = s.End
	}
	if s.Start.IsZero() {
		s.Start.Time = r.opts.Now
	}
	if s.End.Before(s.Start.Time) {
		s.End = s.Start
	}
	s.a = asAttributes(s.Attributes)
	s.class = classOf(s.a, s.Parent == "")
	s.failure = failureOf(s)
	return r.ofSpan(s)
}

func failureOf(s *span) *events.Failure {
	if !s.failed() && !s.a.has("error.type") {
		return nil
	}
	f := &events.Failure{Message: s.Status.Message, Class: s.a.text("error.type")}
	for _, e := range s.Events {
		if e.Name != "exception" {
			continue
		}
		a := asAttributes(e.Attributes)
		f.Message = cmp.Or(f.Message, a.text("exception.message"))
		f.Class = cmp.Or(f.Class, a.text("exception.type"))
	}
	f.Message = cmp.Or(f.Message, "the span failed")
	return f
}

func (s *span) duration() int64 { return s.End.Sub(s.Start.Time).Milliseconds() }

func (r *reader) event(s *span, kind events.Kind, at time.Time, payload any) (events.Event, error) {
	e := events.Event{
		Source: r.source(), Type: kind.Type(), Time: at, Tenant: r.opts.Tenant,
		ID:  events.DeriveID(r.opts.Tenant, "otlp", string(s.TraceID), string(s.SpanID), string(kind), hashOf(s.text)),
		Run: string(s.TraceID), TraceParent: "00-" + string(s.TraceID) + "-" + string(s.SpanID) + "-01",
	}
	e.Session, e.User = r.usable(s.a, sessionNames), r.usable(s.a, userNames)
	e.Agent = r.usable(s.a, []string{"gen_ai.agent.name", "agent_name"})
	e.Agent, e.Subject = cmp.Or(e.Agent, e.Source), e.Run
	if err := e.SetData(payload); err != nil {
		return events.Event{}, errors.New("cannot be stored as JSON")
	}
	if err := e.Normalize(); err != nil {
		if invalid, ok := errors.AsType[*events.InvalidError](err); ok {
			return events.Event{}, errors.New(invalid.Error())
		}
		return events.Event{}, errors.New("cannot be stored")
	}
	return e, nil
}

func (r *reader) usable(a attributes, names []string) string {
	for _, from := range []attributes{a, r.attributes} {
		for _, name := range names {
			if text := from.text(name); text != "" && ingest.Usable(text) {
				return text
			}
		}
	}
	return ""
}

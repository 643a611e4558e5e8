package otlp

import (
	"cmp"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/ingest"
	"github.com/hooktrail/hooktrail/pkg/events"
)

var (
	toolNames  = []string{"gen_ai.tool.name", "tool.name", "ai.toolCall.name", "traceloop.entity.name"}
	callNames  = []string{"gen_ai.tool.call.id", "ai.toolCall.id", "tool_call.id"}
	argNames   = []string{"gen_ai.tool.call.arguments", "tool_arguments", "tool.parameters", "ai.toolCall.args", "traceloop.entity.input", "langfuse.observation.input", "input.value", "input"}
	toolOut    = []string{"gen_ai.tool.call.result", "tool_response", "ai.toolCall.result", "traceloop.entity.output", "langfuse.observation.output", "output.value", "output"}
	modelNames = []string{"gen_ai.response.model", "gen_ai.request.model", "llm.model_name", "llm.request.model", "model_name", "ai.model.id"}
	inNames    = []string{"gen_ai.input.messages", "gen_ai.prompt.0.content", "gen_ai.prompt", "ai.prompt.messages", "ai.prompt", "langfuse.observation.input", "input.value", "input"}
	outNames   = []string{"gen_ai.output.messages", "gen_ai.completion.0.content", "gen_ai.completion", "ai.response.text", "langfuse.observation.output", "output.value", "final_result", "output"}
)

type made struct {
	list []events.Event
	err  error
}

func (m *made) add(e events.Event, err error, changes ...func(*events.Event)) {
	if m.err = cmp.Or(m.err, err); m.err != nil {
		return
	}
	for _, change := range changes {
		change(&e)
	}
	m.list = append(m.list, e)
}

func (r *reader) ofSpan(s *span) ([]events.Event, error) {
	var m made
	isRoot := s.Parent == ""
	if s.class == unknown || s.class == chain && !isRoot {
		m.at(r, s, events.Custom, s.End.Time, events.CustomData{Name: s.Name, Common: events.Common{Raw: s.raw}})
		return m.list, m.err
	}
	isRun := isRoot || s.class == agent
	if isRun {
		m.at(r, s, events.RunStarted, s.Start.Time, events.RunStartedData{
			Title: ingest.Clip(s.Name, ingest.MaxInput), Model: s.a.text(modelNames...), InputSummary: summary(s.a, inNames, ingest.MaxInput),
		}, own(s))
	}
	switch s.class {
	case tool:
		r.toolCall(&m, s)
	case model:
		r.step(&m, s)
	case unknown, chain, agent:
	}
	if isRun {
		end := events.RunFinishedData{
			Success: s.failure == nil, Error: s.failure, DurationMS: s.duration(), TokensUsed: tokensOf(s.a),
			OutputSummary: summary(s.a, outNames, ingest.MaxOutput),
		}
		if s.class == agent || s.class == chain {
			end.Raw = s.raw
		}
		m.at(r, s, events.RunFinished, s.End.Time, end, own(s))
	}
	return m.list, m.err
}

func (m *made) at(r *reader, s *span, kind events.Kind, at time.Time, payload any, changes ...func(*events.Event)) {
	e, err := r.event(s, kind, at, payload)
	m.add(e, err, changes...)
}

func own(s *span) func(*events.Event) {
	return func(e *events.Event) {
		if s.Parent != "" {
			e.ParentRun, e.Run = e.Run, e.Run+"/"+string(s.SpanID)
			e.Subject = e.Run
		}
	}
}

func (r *reader) step(m *made, s *span) {
	status := events.StepCompleted
	if s.failure != nil {
		status = events.StepFailed
	}
	about := map[string]any{}
	for name, value := range map[string]string{
		"model": s.a.text(modelNames...), "provider": s.a.text("gen_ai.provider.name", "gen_ai.system", "llm.provider"), "operation": s.Name,
	} {
		if value != "" {
			about[name] = value
		}
	}
	m.at(r, s, events.StepFinished, s.End.Time, events.StepFinishedData{
		StepStatus: status, Error: s.failure, DurationMS: s.duration(), TokensUsed: tokensOf(s.a), Metadata: about,
		InputSummary: summary(s.a, inNames, ingest.MaxInput), OutputSummary: summary(s.a, outNames, ingest.MaxOutput),
		Common: events.Common{Raw: s.raw},
	}, func(e *events.Event) { e.Step = string(s.SpanID) })
}

func (r *reader) toolCall(m *made, s *span) {
	name := cmp.Or(s.a.text(toolNames...), s.Name, "tool")
	call := s.a.text(callNames...)
	if call == "" || call == name || !ingest.Usable(call) {
		call = string(s.SpanID) // some instrumentations use the name of the tool as the id
	}
	paired := func(e *events.Event) { e.ToolCall = call }
	m.at(r, s, events.ToolBefore, s.Start.Time, events.ToolBeforeData{Tool: name, Args: s.a.content(argNames...)}, paired)
	result := events.ToolResultData{
		Tool: name, Status: events.ToolSuccess, Result: s.a.content(toolOut...), Error: s.failure, DurationMS: s.duration(),
		Common: events.Common{Raw: s.raw},
	}
	if s.failure != nil {
		result.Status = events.ToolError
	}
	if code, ok := s.a.number("process.exit.code", "exit_code"); ok {
		if result.ExitCode = new(int(code)); code != 0 {
			result.Status = events.ToolError
		}
	}
	m.at(r, s, events.ToolResult, s.End.Time, result, paired)
}

func summary(a attributes, names []string, n int) string {
	content := a.content(names...)
	return ingest.Clip(cmp.Or(ingest.Text(content), string(content)), n)
}

// tokensOf does not subtract cached tokens from Input, because only some libraries include them
// there.
func tokensOf(a attributes) *events.Tokens {
	in, hasIn := a.number("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens", "llm.token_count.prompt", "llm.usage.prompt_tokens", "ai.usage.promptTokens", "ai.usage.inputTokens")
	out, hasOut := a.number("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens", "llm.token_count.completion", "llm.usage.completion_tokens", "ai.usage.completionTokens", "ai.usage.outputTokens")
	if !hasIn && !hasOut {
		return nil
	}
	read, _ := a.number("gen_ai.usage.cache_read.input_tokens", "gen_ai.usage.cache_read_input_tokens", "llm.token_count.prompt_details.cache_read", "ai.usage.cachedInputTokens")
	written, _ := a.number("gen_ai.usage.cache_creation.input_tokens", "gen_ai.usage.cache_creation_input_tokens", "llm.token_count.prompt_details.cache_write")
	return &events.Tokens{Input: bounded(in), Output: bounded(out), CacheRead: bounded(read), CacheCreation: bounded(written)}
}

func bounded(n int64) int64 { return min(max(0, n), ingest.MaxCount) }

package provider

import (
	"context"
	"log/slog"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// PreToolUse counts requested tool calls.
func (o *Observability) PreToolUse(ctx context.Context, meta hooks.Meta, call hooks.ToolCall) (*hooks.ToolDecision, error) {
	o.count(ctx, "tool.request", slog.String("tool", call.Tool), slog.String("agent", meta.Agent))
	return hooks.NoOpinion[hooks.ToolDecision](), nil
}

// PostToolUse counts finished tool calls and measures their duration.
func (o *Observability) PostToolUse(ctx context.Context, meta hooks.Meta, done hooks.ToolDone, out hooks.ToolOutcome) (*hooks.ToolOutcome, error) {
	o.ended(ctx, meta, "tool.call", done.Duration, out.Status == events.ToolError,
		slog.String("tool", done.Call.Tool), slog.String("agent", meta.Agent), slog.String("status", string(out.Status)))
	return hooks.Unchanged[hooks.ToolOutcome](), nil
}

// SessionStart counts sessions.
func (o *Observability) SessionStart(ctx context.Context, meta hooks.Meta, s hooks.Session) (*hooks.SessionDecision, error) {
	o.count(ctx, "session.start", slog.String("agent", meta.Agent), slog.String("model", s.Model))
	return hooks.NoOpinion[hooks.SessionDecision](), nil
}

// SessionEnd counts ended sessions and measures their duration.
func (o *Observability) SessionEnd(ctx context.Context, meta hooks.Meta, data events.SessionEndedData) error {
	o.ended(ctx, meta, "session.end", milliseconds(data.DurationMS), false,
		slog.String("agent", meta.Agent), slog.String("reason", data.Reason))
	return nil
}

// PromptSubmitted counts prompts.
func (o *Observability) PromptSubmitted(ctx context.Context, meta hooks.Meta, _ hooks.Prompt) (*hooks.PromptDecision, error) {
	o.count(ctx, "prompt", slog.String("agent", meta.Agent))
	return hooks.NoOpinion[hooks.PromptDecision](), nil
}

// ErrorOccurred counts errors.
func (o *Observability) ErrorOccurred(ctx context.Context, meta hooks.Meta, f hooks.Failure) (*hooks.Recovery, error) {
	o.count(ctx, "error", slog.String("agent", meta.Agent), slog.String("type", string(f.Type)), slog.String("model", f.Model))
	return hooks.NoOpinion[hooks.Recovery](), nil
}

// PreCompact counts compactions.
func (o *Observability) PreCompact(ctx context.Context, meta hooks.Meta, c hooks.Compaction) (*hooks.CompactionDecision, error) {
	o.count(ctx, "compaction", slog.String("agent", meta.Agent), slog.String("trigger", c.Trigger))
	return hooks.NoOpinion[hooks.CompactionDecision](), nil
}

// SubagentStart counts requested sub-agents.
func (o *Observability) SubagentStart(ctx context.Context, _ hooks.Meta, s hooks.Subagent) (*hooks.SubagentDecision, error) {
	o.count(ctx, "agent.spawn", slog.String("agent", s.Name), slog.String("model", s.Model))
	return hooks.NoOpinion[hooks.SubagentDecision](), nil
}

// SubagentStop counts ended sub-agents and their tokens, and measures their duration.
func (o *Observability) SubagentStop(ctx context.Context, meta hooks.Meta, data events.SubagentStoppedData) error {
	agent, model := slog.String("agent", data.Name), slog.String("model", data.Model)
	failed := data.Status != hooks.SubagentCompleted && data.Status != "success"
	o.ended(ctx, meta, "agent.complete", milliseconds(data.DurationMS), failed, agent, model, slog.String("status", data.Status))
	o.tokens(ctx, data.TokensUsed, data.TotalTokens, agent, model)
	return nil
}

// RunStart counts runs.
func (o *Observability) RunStart(ctx context.Context, meta hooks.Meta, data events.RunStartedData) error {
	o.count(ctx, "run.start", slog.String("agent", meta.Agent), slog.String("type", data.RunType))
	return nil
}

// AfterStep counts finished steps and measures their duration.
func (o *Observability) AfterStep(ctx context.Context, meta hooks.Meta, data events.StepFinishedData) error {
	o.ended(ctx, meta, "step", milliseconds(data.DurationMS), data.StepStatus == events.StepFailed,
		slog.String("agent", meta.Agent), slog.String("role", data.AgentRole), slog.String("status", string(data.StepStatus)))
	return nil
}

// RunEnd counts finished runs and measures their duration.
func (o *Observability) RunEnd(ctx context.Context, meta hooks.Meta, data events.RunFinishedData) error {
	o.ended(ctx, meta, "run.end", milliseconds(data.DurationMS), !data.Success,
		slog.String("agent", meta.Agent), slog.String("type", data.RunType), slog.Bool("success", data.Success))
	return nil
}

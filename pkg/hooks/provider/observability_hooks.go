package provider

import (
	"context"
	"log/slog"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// PreToolUse counts the calls that are asked for.
func (o *Observability) PreToolUse(ctx context.Context, meta hooks.Meta, call hooks.ToolCall) (*hooks.Decision[hooks.ToolPatch], error) {
	o.count(ctx, "tool.request", slog.String("tool", call.Tool), slog.String("agent", meta.Agent))
	return nil, nil //nolint:nilnil // no opinion
}

// PostToolUse counts and times the calls that were made.
func (o *Observability) PostToolUse(ctx context.Context, meta hooks.Meta, done hooks.ToolDone, out hooks.ToolOutcome) (*hooks.ToolOutcome, error) {
	o.ended(ctx, meta, "tool.call", done.Duration, out.Status == events.ToolError,
		slog.String("tool", done.Call.Tool), slog.String("agent", meta.Agent), slog.String("status", string(out.Status)))
	return nil, nil //nolint:nilnil // unchanged
}

// SessionStart counts sessions.
func (o *Observability) SessionStart(ctx context.Context, meta hooks.Meta, s hooks.Session) (*hooks.Decision[hooks.SessionPatch], error) {
	o.count(ctx, "session.start", slog.String("agent", meta.Agent), slog.String("model", s.Model))
	return nil, nil //nolint:nilnil // no opinion
}

// SessionEnd counts and times sessions.
func (o *Observability) SessionEnd(ctx context.Context, meta hooks.Meta, data events.SessionEndedData) error {
	o.ended(ctx, meta, "session.end", milliseconds(data.DurationMS), false,
		slog.String("agent", meta.Agent), slog.String("reason", data.Reason))
	return nil
}

// PromptSubmitted counts prompts.
func (o *Observability) PromptSubmitted(ctx context.Context, meta hooks.Meta, _ hooks.Prompt) (*hooks.Decision[hooks.PromptPatch], error) {
	o.count(ctx, "prompt", slog.String("agent", meta.Agent))
	return nil, nil //nolint:nilnil // no opinion
}

// ErrorOccurred counts errors.
func (o *Observability) ErrorOccurred(ctx context.Context, meta hooks.Meta, f hooks.Failure) (*hooks.Recovery, error) {
	o.count(ctx, "error", slog.String("agent", meta.Agent), slog.String("type", string(f.Type)), slog.String("model", f.Model))
	return nil, nil //nolint:nilnil // no opinion
}

// PreCompact counts compactions.
func (o *Observability) PreCompact(ctx context.Context, meta hooks.Meta, c hooks.Compaction) (*hooks.Decision[hooks.CompactionPatch], error) {
	o.count(ctx, "compaction", slog.String("agent", meta.Agent), slog.String("trigger", c.Trigger))
	return nil, nil //nolint:nilnil // no opinion
}

// SubagentStart counts sub-agents that are asked for.
func (o *Observability) SubagentStart(ctx context.Context, _ hooks.Meta, s hooks.Subagent) (*hooks.Decision[hooks.SubagentPatch], error) {
	o.count(ctx, "agent.spawn", slog.String("agent", s.Name), slog.String("model", s.Model))
	return nil, nil //nolint:nilnil // no opinion
}

// SubagentStop counts and times sub-agents, and counts their tokens.
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

// AfterStep counts and times steps.
func (o *Observability) AfterStep(ctx context.Context, meta hooks.Meta, data events.StepFinishedData) error {
	o.ended(ctx, meta, "step", milliseconds(data.DurationMS), data.StepStatus == events.StepFailed,
		slog.String("agent", meta.Agent), slog.String("role", data.AgentRole), slog.String("status", string(data.StepStatus)))
	return nil
}

// RunEnd counts and times runs.
func (o *Observability) RunEnd(ctx context.Context, meta hooks.Meta, data events.RunFinishedData) error {
	o.ended(ctx, meta, "run.end", milliseconds(data.DurationMS), !data.Success,
		slog.String("agent", meta.Agent), slog.String("type", data.RunType), slog.Bool("success", data.Success))
	return nil
}

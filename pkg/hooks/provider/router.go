package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

type router struct {
	name  string
	route func(context.Context, hooks.Meta) ([]*hooks.Registry, error)
}

var routedPoints = []events.Kind{
	events.ToolBefore, events.PromptSubmit, events.SessionStart, events.SubagentStart, events.CompactBefore, events.Error,
	events.ToolResult, events.RunStarted, events.StepFinished, events.RunFinished, events.SessionEnded, events.SubagentStopped,
}

func newInner(provider any, opts hooks.Options) (*hooks.Registry, error) {
	r := hooks.NewRegistry(opts)
	if _, err := r.Use(provider); err != nil {
		return nil, err
	}
	for _, h := range r.List() {
		if !slices.Contains(routedPoints, h.Point) {
			return nil, fmt.Errorf("hook %q at %s: composites with FirstNonNil and tenants do not dispatch at this point", h.Name, h.Point)
		}
	}
	return r, nil
}

// Name implements [hooks.Named].
func (n *router) Name() string { return n.name }

func decide[In, P any](ctx context.Context, n *router, point *hooks.DecisionPoint[In, P], meta hooks.Meta, in In) (*hooks.Decision[P], error) {
	inner, err := n.route(ctx, meta)
	if err != nil {
		return nil, err
	}
	for _, r := range inner {
		out := point.Dispatch(ctx, r, meta, in)
		if out.Verdict == hooks.None {
			if err := failureIn(out.Executions); err != nil {
				return nil, err
			}
		}
		if out.Verdict == hooks.None && !out.Modified && out.Context == "" {
			continue
		}
		d := &hooks.Decision[P]{Verdict: out.Verdict, Reason: out.Reason, Context: out.Context}
		if out.Modified {
			d.Patch = &out.Patch
		}
		return d, nil
	}
	return hooks.NoOpinion[hooks.Decision[P]](), nil
}

func notify[E any](ctx context.Context, n *router, point *hooks.NotificationPoint[E], meta hooks.Meta, data E) error {
	inner, err := n.route(ctx, meta)
	if err != nil {
		return err
	}
	var failed []error
	for _, r := range inner {
		for _, err := range point.Dispatch(ctx, r, meta, data).Errors {
			failed = append(failed, err)
		}
	}
	return errors.Join(failed...)
}

func failureIn(executions []hooks.Execution) error {
	for _, x := range executions {
		if !x.Success {
			return fmt.Errorf("hook %s (%s): %w", x.Hook, x.Name, hooks.Fault(x.Error))
		}
	}
	return nil
}

// PreToolUse dispatches at [hooks.ToolBefore].
func (n *router) PreToolUse(ctx context.Context, meta hooks.Meta, call hooks.ToolCall) (*hooks.ToolDecision, error) {
	return decide(ctx, n, hooks.ToolBefore, meta, call)
}

// PromptSubmitted dispatches at [hooks.PromptSubmit].
func (n *router) PromptSubmitted(ctx context.Context, meta hooks.Meta, prompt hooks.Prompt) (*hooks.PromptDecision, error) {
	return decide(ctx, n, hooks.PromptSubmit, meta, prompt)
}

// SessionStart dispatches at [hooks.SessionStart].
func (n *router) SessionStart(ctx context.Context, meta hooks.Meta, session hooks.Session) (*hooks.SessionDecision, error) {
	return decide(ctx, n, hooks.SessionStart, meta, session)
}

// SubagentStart dispatches at [hooks.SubagentStart].
func (n *router) SubagentStart(ctx context.Context, meta hooks.Meta, subagent hooks.Subagent) (*hooks.SubagentDecision, error) {
	return decide(ctx, n, hooks.SubagentStart, meta, subagent)
}

// PreCompact dispatches at [hooks.CompactBefore].
func (n *router) PreCompact(ctx context.Context, meta hooks.Meta, compaction hooks.Compaction) (*hooks.CompactionDecision, error) {
	return decide(ctx, n, hooks.CompactBefore, meta, compaction)
}

// ErrorOccurred dispatches at [hooks.Error].
func (n *router) ErrorOccurred(ctx context.Context, meta hooks.Meta, failure hooks.Failure) (*hooks.Recovery, error) {
	inner, err := n.route(ctx, meta)
	if err != nil {
		return nil, err
	}
	for _, r := range inner {
		out := hooks.Error.Dispatch(ctx, r, meta, failure)
		if out.Recovery != nil {
			return out.Recovery, nil
		}
		if err := failureIn(out.Executions); err != nil {
			return nil, err
		}
	}
	return hooks.NoOpinion[hooks.Recovery](), nil
}

// PostToolUse dispatches at [hooks.ToolResult].
func (n *router) PostToolUse(ctx context.Context, meta hooks.Meta, done hooks.ToolDone, outcome hooks.ToolOutcome) (*hooks.ToolOutcome, error) {
	inner, err := n.route(ctx, meta)
	if err != nil {
		return nil, err
	}
	for _, r := range inner {
		out := hooks.ToolResult.Dispatch(ctx, r, meta, done, outcome)
		switch {
		case out.Modified: // also true if the result was withheld
			return &out.Value, nil
		case out.Err != nil:
			return nil, out.Err
		}
	}
	return hooks.Unchanged[hooks.ToolOutcome](), nil
}

// RunStart dispatches at [hooks.RunStarted].
func (n *router) RunStart(ctx context.Context, meta hooks.Meta, data events.RunStartedData) error {
	return notify(ctx, n, hooks.RunStarted, meta, data)
}

// AfterStep dispatches at [hooks.StepFinished].
func (n *router) AfterStep(ctx context.Context, meta hooks.Meta, data events.StepFinishedData) error {
	return notify(ctx, n, hooks.StepFinished, meta, data)
}

// RunEnd dispatches at [hooks.RunFinished].
func (n *router) RunEnd(ctx context.Context, meta hooks.Meta, data events.RunFinishedData) error {
	return notify(ctx, n, hooks.RunFinished, meta, data)
}

// SessionEnd dispatches at [hooks.SessionEnded].
func (n *router) SessionEnd(ctx context.Context, meta hooks.Meta, data events.SessionEndedData) error {
	return notify(ctx, n, hooks.SessionEnded, meta, data)
}

// SubagentStop dispatches at [hooks.SubagentStopped].
func (n *router) SubagentStop(ctx context.Context, meta hooks.Meta, data events.SubagentStoppedData) error {
	return notify(ctx, n, hooks.SubagentStopped, meta, data)
}

package provider

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hooktrail/hooktrail/pkg/events"
	"github.com/hooktrail/hooktrail/pkg/hooks"
)

// nest is a provider that asks the hooks of other registries, of which the first
// that has something to say counts.
type nest struct {
	name  string
	route func(context.Context, hooks.Meta) ([]*hooks.Registry, error)
}

// reached are the points that a nest asks at.
var reached = []events.Kind{
	events.ToolBefore, events.PromptSubmit, events.SessionStart, events.SubagentStart, events.CompactBefore, events.Error,
	events.ToolResult, events.RunStarted, events.StepFinished, events.RunFinished, events.SessionEnded, events.SubagentStopped,
}

// nested returns a registry with the hooks of provider, for a nest. One that it
// would never ask is an error.
func nested(provider any, opts hooks.Options) (*hooks.Registry, error) {
	r := hooks.NewRegistry(opts)
	if _, err := r.Use(provider); err != nil {
		return nil, err
	}
	for _, h := range r.List() {
		if !slices.Contains(reached, h.Point) {
			return nil, fmt.Errorf("hook %q at %s: only hooks at points of providers are asked", h.Name, h.Point)
		}
	}
	return r, nil
}

// Name names the hooks of the nest.
func (n *nest) Name() string { return n.name }

// decide asks the hooks of a decision point.
func decide[In, P any](ctx context.Context, n *nest, point *hooks.DecisionPoint[In, P], meta hooks.Meta, in In) (*hooks.Decision[P], error) {
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

// tell tells the hooks of a notification point of all registries.
func tell[E any](ctx context.Context, n *nest, point *hooks.NotificationPoint[E], meta hooks.Meta, data E) error {
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

// failureIn returns an error if a hook has failed.
func failureIn(executions []hooks.Execution) error {
	for _, x := range executions {
		if !x.Success {
			return fmt.Errorf("hook %s (%s): %w", x.Hook, x.Name, hooks.Fault(x.Error))
		}
	}
	return nil
}

// PreToolUse asks about a call.
func (n *nest) PreToolUse(ctx context.Context, meta hooks.Meta, call hooks.ToolCall) (*hooks.ToolDecision, error) {
	return decide(ctx, n, hooks.ToolBefore, meta, call)
}

// PromptSubmitted asks about a prompt.
func (n *nest) PromptSubmitted(ctx context.Context, meta hooks.Meta, prompt hooks.Prompt) (*hooks.PromptDecision, error) {
	return decide(ctx, n, hooks.PromptSubmit, meta, prompt)
}

// SessionStart asks what a session is to have.
func (n *nest) SessionStart(ctx context.Context, meta hooks.Meta, session hooks.Session) (*hooks.SessionDecision, error) {
	return decide(ctx, n, hooks.SessionStart, meta, session)
}

// SubagentStart asks about a sub-agent.
func (n *nest) SubagentStart(ctx context.Context, meta hooks.Meta, subagent hooks.Subagent) (*hooks.SubagentDecision, error) {
	return decide(ctx, n, hooks.SubagentStart, meta, subagent)
}

// PreCompact asks what a compaction is to keep.
func (n *nest) PreCompact(ctx context.Context, meta hooks.Meta, compaction hooks.Compaction) (*hooks.CompactionDecision, error) {
	return decide(ctx, n, hooks.CompactBefore, meta, compaction)
}

// ErrorOccurred asks how to go on.
func (n *nest) ErrorOccurred(ctx context.Context, meta hooks.Meta, failure hooks.Failure) (*hooks.Recovery, error) {
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

// PostToolUse lets the result of a call be changed.
func (n *nest) PostToolUse(ctx context.Context, meta hooks.Meta, done hooks.ToolDone, outcome hooks.ToolOutcome) (*hooks.ToolOutcome, error) {
	inner, err := n.route(ctx, meta)
	if err != nil {
		return nil, err
	}
	for _, r := range inner {
		out := hooks.ToolResult.Dispatch(ctx, r, meta, done, outcome)
		switch {
		case out.Modified: // or withheld
			return &out.Value, nil
		case out.Err != nil:
			return nil, out.Err
		}
	}
	return hooks.Unchanged[hooks.ToolOutcome](), nil
}

// RunStart tells that a run has started.
func (n *nest) RunStart(ctx context.Context, meta hooks.Meta, data events.RunStartedData) error {
	return tell(ctx, n, hooks.RunStarted, meta, data)
}

// AfterStep tells that a step has ended.
func (n *nest) AfterStep(ctx context.Context, meta hooks.Meta, data events.StepFinishedData) error {
	return tell(ctx, n, hooks.StepFinished, meta, data)
}

// RunEnd tells that a run has ended.
func (n *nest) RunEnd(ctx context.Context, meta hooks.Meta, data events.RunFinishedData) error {
	return tell(ctx, n, hooks.RunFinished, meta, data)
}

// SessionEnd tells that a session has ended.
func (n *nest) SessionEnd(ctx context.Context, meta hooks.Meta, data events.SessionEndedData) error {
	return tell(ctx, n, hooks.SessionEnded, meta, data)
}

// SubagentStop tells that a sub-agent has ended.
func (n *nest) SubagentStop(ctx context.Context, meta hooks.Meta, data events.SubagentStoppedData) error {
	return tell(ctx, n, hooks.SubagentStopped, meta, data)
}

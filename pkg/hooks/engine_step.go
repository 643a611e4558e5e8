package hooks

import (
	"context"
	"fmt"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// StepInfo describes a step.
type StepInfo struct {
	ID       string // id of the step in its run. If empty, Step creates one
	Agent    string // if empty, the current agent
	Role     string // FOREMAN, CODER, …
	State    JSON   // an object with which the agent starts
	Input    string
	Model    string
	Metadata map[string]any // metadata of step.finished, to which [Report] can add
}

// Step calls fn as a step of a run. The hooks of step.before can add to the state of the step, or
// deny it. If fn fails, the hooks of error decide about a retry. At the end, Step dispatches
// step.finished.
//
// Step passes the output of fn, a JSON object, through the hooks of step.output and returns it. The
// error is the error of the last attempt, a *[DeniedError], or the failure of a hook that withholds
// the output. A step outside of a run gets a new run id.
func (e *Engine) Step(ctx context.Context, info StepInfo, fn func(context.Context, Attempt) (JSON, error)) (out JSON, err error) {
	at := e.at(ctx)
	if info.ID == "" {
		info.ID = events.NewID()
	}
	if at.meta.Run == "" {
		at.meta.Run = events.NewID()
	}
	at.meta.Step, at.meta.ToolCall = info.ID, ""
	at.act(info.Agent, info.Role)
	at.sums = newSums(at.sums, info.Metadata)
	if at.run != nil {
		at.run.steps.Add(1)
	}
	ctx = at.within(ctx)
	began := time.Now()
	status := events.StepSkipped
	err = ErrExited
	defer func() { e.finishStep(ctx, at, info, status, began, err) }()

	first, err := e.stepBefore(ctx, info)
	if err != nil {
		return "", err
	}
	status, err = events.StepFailed, ErrExited
	err = e.attempts(ctx, first, UnknownError, func(a Attempt) error {
		return e.guard(ctx, StepFinished.Kind(), func() (err error) {
			out, err = fn(ctx, a)
			return err
		})
	})
	if err != nil {
		return "", err
	}
	out, err = filterStepOutput(ctx, e, StepState{Agent: at.meta.Agent, State: first.State}, out)
	if err == nil {
		status = events.StepCompleted
	}
	return out, err
}

func (e *Engine) stepBefore(ctx context.Context, info StepInfo) (Attempt, error) {
	before := StepBefore.Dispatch(ctx, e.registry, e.Meta(ctx), Step{State: info.State})
	e.recorded(ctx, StepBefore.Kind(), before.RecordErr)
	err := e.resolve(ctx, verdictOf(StepBefore, before),
		ToolCall{ID: info.ID, Tool: string(StepBefore.Kind()), Args: before.Input.State})
	return Attempt{State: before.Input.State, Context: before.Context, Number: 1, Model: info.Model}, err
}

func filterStepOutput(ctx context.Context, e *Engine, state StepState, out JSON) (JSON, error) {
	meta := e.Meta(ctx)
	ctx = afterwards(ctx)
	after := StepOutput.Dispatch(ctx, e.registry, meta, state, out)
	e.recorded(ctx, StepOutput.Kind(), after.RecordErr)
	if after.Prevented {
		return "", fmt.Errorf("step %s: output withheld: %w", meta.Step, after.Err)
	}
	return after.Value, nil
}

func (e *Engine) finishStep(ctx context.Context, at frame, info StepInfo, status events.StepStatus, began time.Time, err error) {
	sum := at.sums.totals()
	notify(ctx, e, StepFinished, events.StepFinishedData{
		RunType: at.meta.RunType, AgentRole: at.meta.AgentRole, StepStatus: status,
		InputSummary: info.Input, OutputSummary: sum.summary, DurationMS: time.Since(began).Milliseconds(),
		TokensUsed: sum.tokens, ToolCalls: sum.calls, ToolErrors: sum.failed, ToolDenied: sum.denied, ToolInterrupted: sum.interrupted, Error: failureOf(err), Metadata: sum.metadata,
	})
}

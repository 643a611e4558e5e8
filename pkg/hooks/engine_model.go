package hooks

import (
	"context"
	"fmt"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

type (
	// PromptOutcome is the outcome of [PromptSubmit].
	PromptOutcome = Outcome[Prompt, PromptPatch]
	// CompactionOutcome is the outcome of [CompactBefore].
	CompactionOutcome = Outcome[Compaction, CompactionPatch]
)

// Prompt calls fn with a prompt of the user after the hooks of prompt.submit, which can change or
// deny it. It returns the error of fn, or a *[DeniedError].
func (e *Engine) Prompt(ctx context.Context, p Prompt, fn func(context.Context, PromptOutcome) error) error {
	return decided(ctx, e, PromptSubmit, p, fn)
}

// Compact calls fn for a compaction after the hooks of compact.before, which can add texts that the
// compaction preserves, or deny it. It returns the error of fn, or a *[DeniedError].
func (e *Engine) Compact(ctx context.Context, c Compaction, fn func(context.Context, CompactionOutcome) error) error {
	return decided(ctx, e, CompactBefore, c, fn)
}

func decided[In, P any](
	ctx context.Context, e *Engine, point *DecisionPoint[In, P], in In, fn func(context.Context, Outcome[In, P]) error,
) error {
	out := point.Dispatch(ctx, e.registry, e.Meta(ctx), in)
	e.recorded(ctx, point.Kind(), out.RecordErr)
	args, err := Marshal(out.Input)
	if err != nil {
		return err
	}
	kind := string(point.Kind())
	if err := e.resolve(ctx, verdictOf(point, out), ToolCall{ID: kind, Tool: kind, Args: args}); err != nil {
		return err
	}
	return e.guard(ctx, point.Kind(), func() error { return fn(ctx, out) })
}

// Model calls fn for a request to a model, with the messages that the hooks of llm.request return.
// If fn fails, the hooks of error decide about a retry and another model. After a success, Model
// dispatches response.completed and returns the response.
//
// Empty fields Model and DurationMS of the response are filled in. The error is the error of the
// last attempt, or the failure of a hook that withholds the request.
func (e *Engine) Model(
	ctx context.Context, model string, messages []LLMMessage,
	fn func(context.Context, Attempt, []LLMMessage) (events.ResponseCompletedData, error),
) (response events.ResponseCompletedData, err error) {
	request := LLMRequest.Dispatch(ctx, e.registry, e.Meta(ctx), NoSubject{}, messages)
	e.recorded(ctx, LLMRequest.Kind(), request.RecordErr)
	if request.Prevented {
		return response, fmt.Errorf("request to model %q withheld: %w", model, request.Err)
	}
	if err := ctx.Err(); err != nil {
		return response, err
	}
	err = e.attempts(ctx, Attempt{Number: 1, Model: model}, ModelError, func(a Attempt) error {
		began := time.Now()
		return e.guard(ctx, ResponseCompleted.Kind(), func() (err error) {
			response, err = fn(ctx, a, copied(LLMRequest.copyValue, request.Value))
			if response.Model == "" {
				response.Model = a.Model
			}
			if response.DurationMS == 0 {
				response.DurationMS = time.Since(began).Milliseconds()
			}
			return err
		})
	})
	if err != nil {
		return events.ResponseCompletedData{}, err
	}
	notify(ctx, e, ResponseCompleted, response)
	return response, nil
}

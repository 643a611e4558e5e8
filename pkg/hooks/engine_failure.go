package hooks

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"runtime/debug"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// ErrDenied matches every *[DeniedError] with errors.Is.
var ErrDenied = errors.New("denied")

// DeniedError reports that hooks denied an action. The reason may contain payload, so the error
// text omits it.
type DeniedError struct {
	Point  events.Kind
	Name   string // name of the tool, agent or step
	Reason string // for people and models
	By     ID     // the hook that returned Deny, or returned Ask without a later approval

	HookName string // name of that hook, or empty
}

// Error returns the denied action and the name or id of the hook.
func (e *DeniedError) Error() string {
	return fmt.Sprintf("%s of %q: denied by %s", e.Point, e.Name, cmp.Or(e.HookName, string(e.By)))
}

// Is reports whether target is [ErrDenied].
func (e *DeniedError) Is(target error) bool { return target == ErrDenied }

// PanicError reports a panic in a function that the orchestrator passed to an [Engine].
type PanicError struct {
	Value any
	Stack []byte
}

// Error returns the panic value.
func (e *PanicError) Error() string { return fmt.Sprintf("panicked: %v", e.Value) }

// Unwrap returns the panic value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// ErrInterrupted means that a tool call was stopped by a person or by the tool.
var ErrInterrupted = errors.New("interrupted")

// RefusedError is the error of a tool that refused to run a call.
type RefusedError struct {
	By     events.DeniedBy // empty if unknown
	Reason string          // for people and models
}

// Error returns the reason.
func (e *RefusedError) Error() string {
	if e.Reason == "" {
		return "refused"
	}
	return e.Reason
}

func isFinal(ctx context.Context, err error) bool {
	_, refused := errors.AsType[*RefusedError](err)
	return err == nil || refused || errors.Is(err, ErrInterrupted) || ctx.Err() != nil && errors.Is(err, ctx.Err())
}

// TypedError sets the [ErrorType] that hooks of [Error] get for an error. Without a TypedError, the
// engine uses [ToolError] for an error of a tool, and derives the type of any other error.
type TypedError struct {
	Type  ErrorType
	Model string // model in use when the error occurred
	Err   error
}

// Error returns the text of Err, or the type if Err is nil.
func (e *TypedError) Error() string {
	if e.Err == nil {
		return string(e.Type) + " error"
	}
	return e.Err.Error()
}

// Unwrap returns the cause.
func (e *TypedError) Unwrap() error { return e.Err }

func typeOf(err error, otherwise ErrorType) ErrorType {
	if typed, ok := errors.AsType[*TypedError](err); ok {
		return typed.Type
	}
	if otherwise == ToolError {
		return ToolError
	}
	if _, ok := errors.AsType[net.Error](err); ok && !errors.Is(err, context.DeadlineExceeded) {
		return NetworkError
	}
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, ErrDenied) {
		return PermissionError
	}
	return otherwise
}

func failureOf(err error) *events.Failure {
	if err == nil {
		return nil
	}
	failure := &events.Failure{Message: err.Error()}
	_, panicked := errors.AsType[*PanicError](err)
	kind := typeOf(err, UnknownError)
	switch {
	case panicked:
		failure.Class = "panic"
	case errors.Is(err, context.DeadlineExceeded):
		failure.Class = "timeout"
	case errors.Is(err, context.Canceled):
		failure.Class = "cancelled"
	case errors.Is(err, ErrDenied):
		failure.Class = "denied"
	case kind != UnknownError && kind != ToolError:
		failure.Class = string(kind)
	}
	return failure
}

func (e *Engine) guard(ctx context.Context, point events.Kind, fn func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			stack := debug.Stack()
			at := e.at(ctx)
			e.logger().ErrorContext(ctx, "function panicked", "point", point,
				"run", at.meta.Run, "step", at.meta.Step, "agent", at.meta.Agent, "stack", string(stack))
			err = &PanicError{Value: v, Stack: stack}
		}
	}()
	return fn()
}

// Limits on retries, so that every run ends.
const (
	MaxAttempts = 10              // maximum number of calls of a function
	MaxBackoff  = 5 * time.Minute // maximum wait before a retry
)

// Attempt is the input for one attempt at a step.
type Attempt struct {
	State   JSON   // state with the additions of hooks
	Context string // for the agent
	Number  int    // from 1
	Model   string // model of the step, or a fallback from a hook of [Error]
	Prompt  string // prompt from a hook of [Error], or empty
}

func (e *Engine) attempts(ctx context.Context, first Attempt, otherwise ErrorType, fn func(Attempt) error) error {
	for now := first; ; now.Number++ {
		err := fn(now)
		if isFinal(ctx, err) {
			return err
		}
		recovery := e.failed(ctx, err, Failure{Err: err, Type: typeOf(err, otherwise), Model: now.Model, Attempt: now.Number})
		if recovery == nil || !recovery.Retry || now.Number >= MaxAttempts || !pause(ctx, min(recovery.Backoff, MaxBackoff)) {
			return err
		}
		if recovery.Prompt != "" {
			now.Prompt = recovery.Prompt
		}
		if to := recovery.Fallback; to != "" && to != now.Model {
			notify(ctx, e, ModelSwitched, events.ModelSwitchedData{From: now.Model, To: to, Reason: "fallback"})
			now.Model = to
		}
	}
}

func (e *Engine) failed(ctx context.Context, err error, f Failure) *Recovery {
	if typed, ok := errors.AsType[*TypedError](err); ok && typed.Model != "" {
		f.Model = typed.Model
	}
	if run := e.at(ctx).run; run != nil {
		run.mu.Lock()
		run.reported = err
		run.mu.Unlock()
	}
	meta := e.Meta(ctx)
	ctx = afterwards(ctx)
	answer := Error.Dispatch(ctx, e.registry, meta, f)
	e.recorded(ctx, Error.Kind(), answer.RecordErr)
	return answer.Recovery
}

func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

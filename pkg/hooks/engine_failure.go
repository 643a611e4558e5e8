package hooks

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"runtime/debug"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// ErrDenied is what a *[DeniedError] is.
var ErrDenied = errors.New("denied")

// DeniedError says that hooks have denied something, which therefore was not
// done. Its text does not have the reason, which may quote what was denied.
type DeniedError struct {
	Point  events.Kind
	Name   string // of the tool, the agent or the step
	Reason string // for people and models
	By     ID     // the hook that denied, or asked and got no approval
}

// Error returns what was denied, and by which hook.
func (e *DeniedError) Error() string {
	return fmt.Sprintf("%s of %q: denied by %s", e.Point, e.Name, e.By)
}

// Is tells that e is [ErrDenied].
func (e *DeniedError) Is(target error) bool { return target == ErrDenied }

// PanicError says that a function of the orchestrator has panicked.
type PanicError struct {
	Value any
	Stack []byte
}

// Error returns the value that it panicked with.
func (e *PanicError) Error() string { return fmt.Sprintf("panicked: %v", e.Value) }

// Unwrap returns the value, if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// TypedError tells the hooks of [Error] where an error comes from. Without it an
// engine knows networks, permissions and denials by their errors; what a tool
// returns is a [ToolError], and the rest an [UnknownError].
type TypedError struct {
	Type  ErrorType
	Model string // the model in use, where it matters
	Err   error
}

// Error returns the text of the cause.
func (e *TypedError) Error() string {
	if e.Err == nil {
		return string(e.Type) + " error"
	}
	return e.Err.Error()
}

// Unwrap returns the cause.
func (e *TypedError) Unwrap() error { return e.Err }

// typeOf returns where err comes from, otherwise if nothing tells.
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

// failureOf returns err for a payload, nil for none.
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

// guard calls fn, a function of the orchestrator, and returns its panic as an
// error.
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

// The limits on what the hooks of [Error] can ask for, so that none can keep a
// run from ending.
const (
	MaxAttempts = 10              // how often a function is called at most
	MaxBackoff  = 5 * time.Minute // how long it is waited for at most before the next time
)

// Attempt is what one call of a step's function starts from.
type Attempt struct {
	State   JSON   // with what the hooks have added
	Context string // what the agent is to know besides
	Number  int    // from 1
	Model   string // the step's, or the one that a hook of [Error] falls back to
	Prompt  string // of a hook of [Error], instead of the one before; empty: none
}

// attempts calls fn until it succeeds or the hooks of Error do not want it
// again. Where ctx has ended there is nothing to recover from.
func (e *Engine) attempts(ctx context.Context, first Attempt, otherwise ErrorType, fn func(Attempt) error) error {
	for now := first; ; now.Number++ {
		err := fn(now)
		if err == nil || ctx.Err() != nil && errors.Is(err, ctx.Err()) {
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

// failed tells the hooks of Error of f, and returns what they say.
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
	said := Error.Dispatch(ctx, e.registry, meta, f)
	e.recorded(ctx, Error.Kind(), said.RecordErr)
	return said.Recovery
}

// pause waits for d, and returns false if ctx has ended.
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

package hooks

import (
	"context"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Fault is a cause that may be recorded and logged: its text says what
// happened and holds nothing of a payload. Of other errors that a hook returns
// only the fact is kept, because their text may quote what the hook was given.
//
//	return nil, fmt.Errorf("ask %s: %w", url, hooks.Fault("answer is no JSON"))
type Fault string //nolint:errname // hooks.Fault("exit status 9") reads as what it is

// Error returns the text of f.
func (f Fault) Error() string { return string(f) }

// Is makes the faults about time and cancellation those of package context.
func (f Fault) Is(target error) bool {
	if f == ErrTimedOut || f == ErrChainTimedOut {
		return target == context.DeadlineExceeded
	}
	return f == ErrCancelled && target == context.Canceled
}

// The faults of hooks that this package finds itself.
const (
	ErrTimedOut      = Fault("timed out")
	ErrChainTimedOut = Fault("not reached within the time of the chain")
	ErrCancelled     = Fault("cancelled")
	ErrPanicked      = Fault("panicked")
	ErrExited        = Fault("ended its goroutine")
	ErrBusy          = Fault("too many of its executions have not ended")
	ErrBadOutput     = Fault("bad output")
	ErrClosed        = Fault("registry closed")
)

// HookExecutionError says which hook failed, where, and why. Its text holds
// nothing of a payload: of the cause it names only a [Fault]. The cause itself,
// with whatever text it has, is Err, and found by errors.Is and errors.As.
type HookExecutionError struct {
	Hook  ID
	Name  string
	Point events.Kind
	Agent string
	Err   error
}

// Error returns hook, point, agent and the fault.
func (e *HookExecutionError) Error() string {
	s := "hook " + string(e.Hook)
	if e.Name != "" {
		s += " (" + e.Name + ")"
	}
	s += " at " + string(e.Point)
	if e.Agent != "" {
		s += " of " + e.Agent
	}
	return s + ": " + faultOf(e.Err)
}

// Unwrap returns the cause.
func (e *HookExecutionError) Unwrap() error { return e.Err }

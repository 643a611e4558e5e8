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

// cause is an error of a hook and what may be told of it. The methods of such an
// error are code of the hook, too: they are called while it has time, and then
// never again.
type cause struct {
	error

	fault     Fault
	timedOut  bool
	cancelled bool
}

// Unwrap returns the error itself.
func (c *cause) Unwrap() error { return c.error }

// failed is the fault of an error that tells of none.
const failed = Fault("failed")

// maxCauses is how many errors an error may be made of: one can be its own cause.
const maxCauses = 100

// causeOf looks through an error of a hook.
func causeOf(err error) (found error) {
	if err == nil {
		return nil
	}
	c := &cause{error: err}
	defer func() {
		recover() //nolint:errcheck // what an error of a hook panics with says nothing
		switch {
		case c.fault != "":
		case c.timedOut:
			c.fault = ErrTimedOut
		case c.cancelled:
			c.fault = ErrCancelled
		default:
			c.fault = failed
		}
		found = c
	}()
	left := maxCauses
	c.search(err, &left)
	return c
}

// search looks for what may be told in err and its causes, the first fault
// counting.
func (c *cause) search(err error, left *int) {
	if *left--; err == nil || *left < 0 {
		return
	}
	if fault, ok := err.(Fault); ok && c.fault == "" { //nolint:errorlint // its causes come below
		c.fault = fault
	}
	is := func(target error) bool {
		same, ok := err.(interface{ Is(error) bool })
		return err == target || ok && same.Is(target) //nolint:errorlint // its causes come below
	}
	c.timedOut = c.timedOut || is(context.DeadlineExceeded)
	c.cancelled = c.cancelled || is(context.Canceled)
	switch err := err.(type) { //nolint:errorlint // see above
	case interface{ Unwrap() error }:
		c.search(err.Unwrap(), left)
	case interface{ Unwrap() []error }:
		for _, err := range err.Unwrap() {
			c.search(err, left)
		}
	}
}

// looked returns what has been found in an error of a hook; in one of our own it
// is looked for now.
func inspected(err error) *cause {
	c, ok := err.(*cause) //nolint:errorlint // never wrapped, but in a HookExecutionError
	if !ok {
		c, _ = causeOf(err).(*cause) //nolint:errorlint // see above
	}
	return c
}

// faultOf returns what may be told of err.
func faultOf(err error) string {
	if err == nil {
		return ""
	}
	return string(inspected(err).fault)
}

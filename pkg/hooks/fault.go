package hooks

import (
	"context"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// Fault is an error whose text contains no payload. Only the text of a Fault is recorded and
// logged. To keep a reason, wrap a Fault:
//
//	return nil, fmt.Errorf("ask %s: %w", url, hooks.Fault("answer is not JSON"))
type Fault string //nolint:errname // hooks.Fault("exit status 9") reads as what it is

// Error returns the text of f.
func (f Fault) Error() string { return string(f) }

// Is makes the timeout errors match [context.DeadlineExceeded] in errors.Is, and [ErrCancelled]
// match [context.Canceled].
func (f Fault) Is(target error) bool {
	if f == ErrTimedOut || f == ErrChainTimedOut {
		return target == context.DeadlineExceeded
	}
	return f == ErrCancelled && target == context.Canceled
}

// Failures of a hook that a dispatch detects.
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

// HookExecutionError describes the failure of a hook. Err may contain text of the payload, so the
// error text has only the part of Err that is a [Fault].
type HookExecutionError struct {
	Hook  ID
	Name  string
	Point events.Kind
	Agent string
	Err   error
}

// Error returns a text with the hook, the point and the agent. Of Err, the text contains only a
// [Fault].
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

// The fields of a cause are read before the hook's timeout, because methods of an error can block.
type cause struct {
	error

	fault     Fault
	timedOut  bool
	cancelled bool
}

// Unwrap returns the original error of the hook.
func (c *cause) Unwrap() error { return c.error }

const failed = Fault("failed")

const maxCauses = 100

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

func inspected(err error) *cause {
	c, ok := err.(*cause) //nolint:errorlint // never wrapped, but in a HookExecutionError
	if !ok {
		c, _ = causeOf(err).(*cause) //nolint:errorlint // see above
	}
	return c
}

func faultOf(err error) string {
	if err == nil {
		return ""
	}
	return string(inspected(err).fault)
}

package hooks

import "context"

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
func looked(err error) *cause {
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
	return string(looked(err).fault)
}

package hooks

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"time"
)

// call is one execution of a hook, and the context that the hook gets. Its
// deadline costs nothing until somebody waits for it: only Done starts a timer.
type call struct {
	context.Context //nolint:containedctx // a call is a context, this is its parent

	hook     *hook
	index    int       // of the hook in its chain
	start    time.Time // of the execution
	deadline time.Time // what is answered later does not count
	patience time.Time // when the caller goes on without it

	mu      sync.Mutex // guards what follows
	err     error
	done    chan struct{} // nil until asked for
	unwatch func()        // stops what waits to close it
}

// Deadline returns when the hook's time is over.
func (c *call) Deadline() (time.Time, bool) {
	if d, ok := c.Context.Deadline(); ok && d.Before(c.deadline) {
		return d, true
	}
	return c.deadline, true
}

// Done returns a channel that is closed when the hook's time is over, its
// dispatch is cancelled, or it has returned.
func (c *call) Done() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done != nil {
		return c.done
	}
	c.done = make(chan struct{})
	if c.err != nil {
		close(c.done)
		return c.done
	}
	timer := time.AfterFunc(time.Until(c.deadline), func() { c.end(context.DeadlineExceeded) })
	stop := context.AfterFunc(c.Context, func() { c.end(c.Context.Err()) })
	c.unwatch = func() { timer.Stop(); stop() }
	return c.done
}

// Err returns why Done is closed, nil while it is not.
func (c *call) Err() error {
	cause := c.Context.Err()
	if cause == nil && !time.Now().Before(c.deadline) {
		cause = context.DeadlineExceeded
	}
	if cause != nil {
		c.end(cause)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// end ends the context; the first reason counts.
func (c *call) end(reason error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	c.err = reason
	if c.done != nil {
		close(c.done)
		c.unwatch()
	}
}

// admits asks what the caller did not: matchers that are not ours, and whether
// the hook is enabled.
func (c *call) admits(meta Meta, subject Subject) bool {
	for _, m := range c.hook.matchers {
		if !m.Match(meta, subject) {
			return false
		}
	}
	for _, enabled := range c.hook.enabled {
		if !enabled(c, meta) {
			return false
		}
	}
	return true
}

// guard, deferred, makes an error of a panic. The stack goes to the log, what
// was thrown does not: it may quote a payload.
func (f *flight) guard(c *call, ran *bool, err *error) {
	thrown := recover()
	if thrown == nil {
		return
	}
	*ran, *err = true, ErrPanicked
	if cause, ok := thrown.(error); ok {
		*err = fmt.Errorf("%w: %w", ErrPanicked, cause)
	}
	f.registry.opts.Logger.ErrorContext(c.Context, "hook panicked",
		"hook", c.hook.id, "name", c.hook.name, "point", c.hook.at.kind, "stack", string(debug.Stack()))
}

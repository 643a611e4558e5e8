package hooks

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

type call struct {
	dispatch *dispatch
	hook     *hook
	index    int
	start    time.Duration
	deadline time.Duration // later answers are discarded

	over  atomic.Pointer[error] // why the context has ended, or nil
	watch atomic.Pointer[watch] // nil until Done is called
}

func (c *call) parent() context.Context {
	if c.hook.async {
		return context.WithoutCancel(c.dispatch.ctx)
	}
	return c.dispatch.ctx
}

// Value implements [context.Context]. It returns values of the context that Dispatch was called
// with.
func (c *call) Value(key any) any { return c.parent().Value(key) }

type watch struct {
	done chan struct{}

	mu     sync.Mutex // guards closed and stop. A leaf lock
	closed bool
	stop   func()
}

type contribution struct {
	verdict  Verdict
	modified bool
}

// Deadline returns the deadline of the hook or of the caller, whichever is earlier.
func (c *call) Deadline() (time.Time, bool) {
	own := c.dispatch.began.Add(c.deadline)
	if d, ok := c.parent().Deadline(); ok && d.Before(own) {
		return d, true
	}
	return own, true
}

// Done returns a channel that is closed when the hook times out, returns or is cancelled.
func (c *call) Done() <-chan struct{} {
	if w := c.watch.Load(); w != nil {
		return w.done
	}
	w := &watch{done: make(chan struct{})}
	if !c.watch.CompareAndSwap(nil, w) {
		return c.watch.Load().done
	}
	w.arm(c)
	return w.done
}

// Err returns the reason why the context has ended, or nil.
func (c *call) Err() error {
	if over := c.over.Load(); over != nil {
		return *over
	}
	if err := c.parent().Err(); err != nil {
		c.end(&err)
	} else if c.dispatch.clock() >= c.deadline {
		c.end(&errDeadline)
	}
	if over := c.over.Load(); over != nil {
		return *over
	}
	return nil
}

var (
	errDeadline = context.DeadlineExceeded
	errCanceled = context.Canceled
)

func (c *call) end(reason *error) {
	c.over.CompareAndSwap(nil, reason)
	// end sets c.over and then reads c.watch, while Done sets c.watch and then reads c.over. At
	// least one of them therefore closes the channel.
	if w := c.watch.Load(); w != nil {
		w.close()
	}
}

func (w *watch) arm(c *call) {
	if c.over.Load() != nil {
		w.close()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	timer := time.AfterFunc(c.deadline-c.dispatch.clock(), func() { c.end(&errDeadline) })
	stop := context.AfterFunc(c.parent(), func() {
		err := c.parent().Err()
		c.end(&err)
	})
	w.stop = func() { timer.Stop(); stop() }
}

func (w *watch) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return
	}
	w.closed = true
	close(w.done)
	if w.stop != nil {
		w.stop()
	}
}

func (c *call) admits(subject Subject) bool {
	for _, m := range c.hook.matchers {
		if !m.Match(c.dispatch.meta, subject) {
			return false
		}
	}
	for _, enabled := range c.hook.enabled {
		if !enabled(c, c.dispatch.meta) {
			return false
		}
	}
	return true
}

// guard does not log the panic value, because it may contain the user's data.
func (c *call) guard(ran *bool, err *error) {
	thrown := recover()
	if thrown == nil {
		*err = causeOf(*err)
		return
	}
	*ran, *err = true, ErrPanicked
	if thrown, ok := thrown.(error); ok {
		*err = &cause{error: fmt.Errorf("%w: %w", ErrPanicked, thrown), fault: ErrPanicked}
	}
	if c.hook.onFailure == Ignore {
		return
	}
	c.dispatch.registry.opts.Logger.ErrorContext(c.parent(), "hook panicked",
		"hook", c.hook.id, "name", c.hook.name, "point", c.hook.info.kind, "stack", string(debug.Stack()))
}

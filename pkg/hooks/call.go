package hooks

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"
)

// call is one execution of a hook, and the context that the hook gets. Its
// deadline costs nothing until somebody waits for it: only Done starts a timer.
// Times are counted from when the dispatch began.
type call struct {
	dispatch *dispatch
	hook     *hook
	index    int           // of the hook in its chain
	start    time.Duration // of the execution
	deadline time.Duration // what is answered later does not count

	over  atomic.Pointer[error] // why the context has ended; nil while it has not
	watch atomic.Pointer[watch] // nil until somebody waits for the end
}

// parent returns the context of the dispatch. What becomes of that does not end
// an asynchronous hook; its deadline does.
func (c *call) parent() context.Context {
	if c.hook.async {
		return context.WithoutCancel(c.dispatch.ctx)
	}
	return c.dispatch.ctx
}

// Value returns what the context of the dispatch has for key.
func (c *call) Value(key any) any { return c.parent().Value(key) }

// watch waits for the end of a context.
type watch struct {
	done chan struct{}

	mu     sync.Mutex // guards what follows
	closed bool       // done is
	stop   func()     // stops what would end the context; nil until it is there
}

// said is what a hook has contributed, for the report.
type contribution struct {
	verdict  Verdict
	modified bool
}

// Deadline returns when the hook's time is over.
func (c *call) Deadline() (time.Time, bool) {
	own := c.dispatch.began.Add(c.deadline)
	if d, ok := c.parent().Deadline(); ok && d.Before(own) {
		return d, true
	}
	return own, true
}

// Done returns a channel that is closed when the hook's time is over, its
// dispatch is cancelled, or it has returned.
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

// Err returns why Done is closed, nil while it is not.
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

// The reasons for which a context ends, where they can be pointed at.
var (
	errDeadline = context.DeadlineExceeded
	errCanceled = context.Canceled
)

// end ends the context; the first reason counts.
func (c *call) end(reason *error) {
	c.over.CompareAndSwap(nil, reason)
	// Whoever stores a watch looks at over afterwards: one of the two sees the
	// other.
	if w := c.watch.Load(); w != nil {
		w.close()
	}
}

// arm starts what will end the context of c.
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

// close closes done, once.
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

// admits asks what the caller did not: matchers that are not ours, and whether
// the hook is enabled.
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

// guard, deferred, makes an error of a panic, and looks through the one that the
// hook has returned. The stack goes to the log, what was thrown does not: it may
// quote a payload.
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

package hooks

import "time"

// sequence is the typed half of a dispatch that runs its hooks one after the
// other.
type sequence interface {
	// invoke calls the hook of c with the current input and applies the answer.
	invoke(c *call) chainState
	// block applies the failure of a hook whose failure mode is Block.
	block(h *hook, err error) chainState
}

// chainState says how a chain continues after one of its hooks.
type chainState uint8

const (
	proceed chainState = iota
	endChain
	abandoned // the caller owns the dispatch; do not touch it
)

// run calls the hooks in order. Consecutive isolated hooks share one worker
// goroutine. Inline hooks run on the goroutine of the caller.
func (f *dispatch) run(s sequence) {
	hooks := f.chain.list()
	for i := 0; i < len(hooks); {
		h := hooks[i]
		if !h.applies(&f.meta, f.tool, f.ending) {
			i++
			continue
		}
		g := &f.first
		if i > 0 {
			g = &segment{} // an abandoned worker may still use the first one
		}
		*g = segment{dispatch: f, sequence: s, next: i}
		if h.isolation == Inline {
			g.run()
			i = g.next
			continue
		}
		i = f.runPooled(g)
	}
}

// runPooled runs g on a worker goroutine and returns the index of the next
// hook.
func (f *dispatch) runPooled(g *segment) int {
	if f.waiter == nil {
		f.waiter = f.registry.newWaiter()
		// An abandoned worker never touches the waiter, so it can be reused.
		defer func() {
			f.registry.waiters.Put(f.waiter)
			f.waiter = nil
		}()
	}
	go g.work()
	return f.await(g)
}

// await waits for the worker and returns the index of the next hook. When the
// current hook has exceeded its time, await takes over and abandons the worker.
func (f *dispatch) await(g *segment) int {
	f.waiter.timer.Reset(f.chain.shortest)
	defer f.waiter.timer.Stop()
	cancelled := f.ctx.Done()
	for {
		select {
		case <-f.waiter.done:
			return g.next
		case <-f.waiter.timer.C:
		case <-cancelled:
			cancelled = nil
		}
		c, again := f.takeOver()
		if c == nil {
			f.waiter.timer.Reset(again)
			continue
		}
		if f.finish(g.sequence, c, contribution{}, f.abandon(c, f.now)) == endChain {
			return len(f.chain.hooks)
		}
		return c.index + 1
	}
}

// waiter lets a caller wait for its worker. Registries reuse waiters.
type waiter struct {
	timer *time.Timer   // stopped between dispatches
	done  chan struct{} // buffered, so that the sender never blocks
}

// newWaiter returns a waiter, a reused one if possible.
func (r *Registry) newWaiter() *waiter {
	if w, ok := r.waiters.Get().(*waiter); ok {
		return w
	}
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	return &waiter{timer: timer, done: make(chan struct{}, 1)}
}

// segment is a run of consecutive hooks that are all inline or all isolated.
type segment struct {
	dispatch *dispatch
	sequence sequence
	next     int   // index of the hook to call next
	call     *call // the last call
}

// run calls the hooks of the segment. It returns false if the worker was
// abandoned.
func (g *segment) run() bool {
	f, hooks := g.dispatch, g.dispatch.chain.hooks
	inline := hooks[g.next].isolation == Inline
	for ; g.next < len(hooks) && (hooks[g.next].isolation == Inline) == inline; g.next++ {
		if !hooks[g.next].applies(&f.meta, f.tool, f.ending) {
			continue
		}
		g.call = f.prepare(hooks[g.next], g.next)
		switch g.sequence.invoke(g.call) {
		case proceed:
		case endChain:
			g.next = len(hooks)
			return true
		case abandoned:
			return false
		}
	}
	return true
}

// work runs the segment on a new goroutine and wakes the caller.
func (g *segment) work() {
	exited := true
	defer func() {
		if exited { // the hook called runtime.Goexit
			g.exited()
		}
	}()
	owned := g.run()
	exited = false
	if owned {
		g.dispatch.waiter.done <- struct{}{}
	}
}

// exited handles a hook that has ended the goroutine of the worker.
func (g *segment) exited() {
	f, err := g.dispatch, error(ErrExited)
	if !f.claim(g.call, &err) {
		f.late(g.call, contribution{}, err)
		return
	}
	g.next++
	if f.finish(g.sequence, g.call, contribution{}, err) == endChain {
		g.next = len(f.chain.hooks)
	}
	f.waiter.done <- struct{}{}
}

// finish reports how an execution ended and returns how the chain continues.
func (f *dispatch) finish(s sequence, c *call, given contribution, err error) chainState {
	n := len(f.executions)
	f.executions = f.executions[:n+1] // never grows: it has room for every hook
	c.reportInto(&f.executions[n], f.now, given, err)
	if err == nil {
		return proceed
	}
	f.failed(c, err)
	if c.hook.onFailure != Block {
		return proceed
	}
	return s.block(c.hook, err)
}

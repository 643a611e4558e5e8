package hooks

import (
	"time"
)

// sequence is the typed half of a dispatch whose hooks run one after the other.
type sequence interface {
	// invoke calls the hook of c with the input as it is now, from begin to
	// claim, and counts in what it answers.
	invoke(c *call) progress
	// block counts in that a hook that blocks has failed.
	block(h *hook, err error) progress
}

// fate is how a chain goes on after one of its hooks.
type progress uint8

const (
	proceed progress = iota
	endChain
	abandoned // the flight belongs to the caller again; touch nothing of it
)

// run runs the hooks in their order: those that are isolated beside the caller,
// neighbours on one worker, the others on the caller itself.
func (f *dispatch) run(s sequence) {
	hooks := f.hooks()
	for i := 0; i < len(hooks); {
		h := hooks[i]
		if !h.applies(&f.meta, f.tool, f.ending) {
			i++
			continue
		}
		g := &segment{dispatch: f, sequence: s, next: i}
		if h.isolation == Inline {
			g.run()
			i = g.next
			continue
		}
		i = f.runPooled(g)
	}
}

// beside runs g on a worker, and returns the hook to go on with.
func (f *dispatch) runPooled(g *segment) int {
	if f.waiter == nil {
		f.waiter = f.registry.newWaiter()
		// Nobody else has the bench: an abandoned worker does not touch it.
		defer func() {
			f.registry.waiters.Put(f.waiter)
			f.waiter = nil
		}()
	}
	go g.work()
	return f.await(g)
}

// await waits for the worker, or goes on without it when its hook has outstayed
// its time, and returns the hook to go on with.
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

// bench is where a caller waits for its workers.
type waiter struct {
	timer *time.Timer   // stopped between dispatches
	done  chan struct{} // room for the one who is done last
}

// sit returns a bench.
func (r *Registry) newWaiter() *waiter {
	if b, ok := r.waiters.Get().(*waiter); ok {
		return b
	}
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	return &waiter{timer: timer, done: make(chan struct{}, 1)}
}

// segment is neighbours of a chain that are isolated alike.
type segment struct {
	dispatch *dispatch
	sequence sequence
	next     int   // the hook to begin, and to go on, with
	call     *call // the last one
}

// run runs the hooks of the segment, and returns false if it was abandoned.
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

// work runs the segment on a goroutine of its own and wakes the caller.
func (g *segment) work() {
	exited := true
	defer func() {
		if exited { // the hook has ended the goroutine
			g.exited()
		}
	}()
	owned := g.run()
	exited = false
	if owned {
		g.dispatch.waiter.done <- struct{}{}
	}
}

// exited counts in that the hook has ended its goroutine, with which the worker
// went.
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

// settle notes how an execution ended, and tells whether the chain goes on.
func (f *dispatch) finish(s sequence, c *call, what contribution, err error) progress {
	n := len(f.executions)
	f.executions = f.executions[:n+1] // each hook has its place
	c.reportInto(&f.executions[n], f.now, what, err)
	if err == nil {
		return proceed
	}
	f.failed(c, err)
	if c.hook.onFailure != Block {
		return proceed
	}
	return s.block(c.hook, err)
}

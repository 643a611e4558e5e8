package hooks

import "time"

type sequence interface {
	invoke(c *call) chainState
	block(h *hook, err error) chainState
}

type chainState uint8

const (
	proceed  chainState = iota
	toJudges            // skip the remaining hooks, but not those with Last
	endChain
	abandoned // the caller owns the dispatch, and the worker must not change it
)

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
			g = &segment{} // an abandoned worker may still use f.first
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

func (f *dispatch) runPooled(g *segment) int {
	if f.waiter == nil {
		f.waiter = f.registry.newWaiter()
		// Another dispatch can reuse the waiter. A worker that this dispatch has abandoned never
		// signals the waiter.
		defer func() {
			f.registry.waiters.Put(f.waiter)
			f.waiter = nil
		}()
	}
	go g.work()
	return f.await(g)
}

func (f *dispatch) await(g *segment) int {
	f.waiter.timer.Reset(f.interval)
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
		return f.chain.after(c.index, f.finish(g.sequence, c, contribution{}, f.abandon(c, f.now)))
	}
}

type waiter struct {
	timer *time.Timer   // not running between dispatches
	done  chan struct{} // buffered, so that the sender never blocks
}

func (r *Registry) newWaiter() *waiter {
	if w, ok := r.waiters.Get().(*waiter); ok {
		return w
	}
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	return &waiter{timer: timer, done: make(chan struct{}, 1)}
}

type segment struct {
	dispatch *dispatch
	sequence sequence
	next     int
	call     *call
}

func (g *segment) run() bool {
	f, hooks := g.dispatch, g.dispatch.chain.hooks
	inline := hooks[g.next].isolation == Inline
	for g.next < len(hooks) && (hooks[g.next].isolation == Inline) == inline {
		if !hooks[g.next].applies(&f.meta, f.tool, f.ending) {
			g.next++
			continue
		}
		g.call = f.prepare(hooks[g.next], g.next)
		state := g.sequence.invoke(g.call)
		if state == abandoned {
			return false
		}
		g.next = f.chain.after(g.next, state)
	}
	return true
}

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

func (g *segment) exited() {
	f, err := g.dispatch, error(ErrExited)
	if !f.claim(g.call, &err) {
		f.late(g.call, contribution{}, err)
		return
	}
	g.next = f.chain.after(g.next, f.finish(g.sequence, g.call, contribution{}, err))
	f.waiter.done <- struct{}{}
}

func (f *dispatch) finish(s sequence, c *call, given contribution, err error) chainState {
	f.executions = append(f.executions, c.report(f.now, given, err))
	if err == nil {
		return proceed
	}
	f.failed(c, err)
	if c.hook.onFailure != Block {
		return proceed
	}
	return s.block(c.hook, err)
}

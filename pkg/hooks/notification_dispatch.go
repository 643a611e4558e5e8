package hooks

import (
	"context"
	"sync"
	"time"
)

// notification is a dispatch at a notification point. Its hooks run at the same
// time. Each has a slot, in which either its worker or, when it has outstayed its
// time, the caller puts how it ended.
type notification[E any] struct {
	flight

	mu    sync.Mutex // guards slots and open
	slots []slot
	open  int // slots that are still to be filled; who fills the last one tells the caller
}

// slot is where an execution ends.
type slot struct {
	call *call // to be waited for; nil once it has ended
	ran  bool
	end  Execution
	err  error
}

// dispatch is Dispatch where there is something to do.
func (p *NotificationPoint[E]) dispatch(ctx context.Context, r *Registry, meta *Meta, end ending, e E) Notified {
	n := &notification[E]{}
	n.takeOff(ctx, r, p.at, meta, "", end)
	n.tell(p, e)
	out := Notified{Executions: n.executions, Errors: n.failures}
	if n.event != "" {
		out.Event, out.RecordErr = n.record(p.at.kind, p.payload(e, n.executions))
	}
	if n.chain.later() {
		e = copied(p.copyEvent, e) // the caller may change its own
		n.later(func(c *call) (bool, error) { return n.ask(c, copied(p.copyEvent, e)) })
	}
	return out
}

// tell calls the hooks, waits for them, and reports them in their order.
func (n *notification[E]) tell(p *NotificationPoint[E], e E) {
	calls := n.enter()
	if n.open > 0 {
		n.bench = n.registry.sit()
		defer n.registry.benches.Put(n.bench)
		n.start(calls, p, e)
		n.wait()
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	for i, s := range n.slots {
		if s.ran {
			n.executions = append(n.executions, s.end)
		}
		if s.err != nil {
			n.failed(calls[i], s.err)
		}
	}
}

// enter makes a call and a slot for each hook.
func (n *notification[E]) enter() []*call {
	hooks := n.hooks()
	calls := make([]*call, 0, len(hooks))
	n.slots = make([]slot, 0, len(hooks))
	for _, h := range hooks {
		if !h.wanted(&n.meta, n.tool, n.ending) {
			continue
		}
		c := n.prepare(h, len(calls))
		calls = append(calls, c)
		if err := n.admit(c); err != nil {
			n.slots = append(n.slots, slot{ran: true, end: c.report(n.now, said{}, err), err: err})
			continue
		}
		n.slots = append(n.slots, slot{call: c})
		n.open++
	}
	return calls
}

// start starts those that have an open slot; the inline ones it runs.
func (n *notification[E]) start(calls []*call, p *NotificationPoint[E], e E) {
	var inline []*call
	for _, c := range calls {
		switch {
		case n.slots[c.index].call == nil: // not admitted; nobody else is there yet
		case c.hook.isolation == Inline:
			inline = append(inline, c)
		default:
			go n.run(c, copied(p.copyEvent, e))
		}
	}
	for _, c := range inline {
		n.now = n.clock()
		if err := n.admit(c); err != nil {
			n.fill(c, true, err)
			continue
		}
		n.run(c, copied(p.copyEvent, e))
	}
}

// run runs a hook and fills its slot.
func (n *notification[E]) run(c *call, e E) {
	ran, err := true, error(ErrExited)
	defer func() { n.fill(c, ran, err) }() // also if the hook ends its goroutine
	ran, err = n.ask(c, e)
}

// ask calls the hook. It returns false where the hook is not for this dispatch.
func (n *notification[E]) ask(c *call, e E) (ran bool, err error) {
	defer c.guard(&ran, &err)
	fn, ok := c.hook.fn.(func(context.Context, Meta, E) error)
	if !ok || c.hook.picky() && !c.admits(Subject{}) {
		return false, nil
	}
	return true, fn(c, n.meta, e)
}

// fill ends the execution of c, if the caller has not.
func (n *notification[E]) fill(c *call, ran bool, err error) {
	c.end(&errCanceled)
	now := n.clock()
	if now >= c.deadline {
		err = ErrTimedOut
	}
	n.mu.Lock()
	mine := n.slots[c.index].call == c
	if mine {
		n.put(c, now, ran, err)
	}
	n.mu.Unlock()
	if !mine {
		n.late(c, said{}, err)
	}
}

// put fills the slot of c, and tells the caller if it was the last one. n.mu is
// held.
func (n *notification[E]) put(c *call, now time.Duration, ran bool, err error) {
	n.slots[c.index] = slot{ran: ran || err != nil, end: c.report(now, said{}, err), err: err}
	if n.open--; n.open == 0 {
		n.bench.done <- struct{}{} // has room for one, and there is only one last
	}
}

// wait waits until every slot is filled, and fills those itself whose hooks
// have outstayed their time.
func (n *notification[E]) wait() {
	n.bench.timer.Reset(n.chain.shortest)
	defer n.bench.timer.Stop()
	cancelled := n.ctx.Done()
	for {
		select {
		case <-n.bench.done:
			return
		case <-n.bench.timer.C:
		case <-cancelled:
			cancelled = nil
		}
		n.bench.timer.Reset(n.giveUp())
	}
}

// giveUp fills the slots of the hooks that have outstayed their time, and
// returns how long to wait until looking again.
func (n *notification[E]) giveUp() time.Duration {
	now := n.clock()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.noteCancel(now)
	again := n.chain.shortest
	for _, s := range n.slots {
		if s.call == nil {
			continue
		}
		left := n.left(s.call, now)
		if left <= 0 {
			n.put(s.call, now, true, n.forsake(s.call, now))
			continue
		}
		again = min(again, left)
	}
	return again
}

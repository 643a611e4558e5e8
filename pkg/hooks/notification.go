package hooks

import (
	"context"
	"sync"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// NotificationPoint is a point at which hooks observe an event.
type NotificationPoint[E any] struct {
	info  *pointInfo
	rules notificationRules[E]

	copyEvent func(E) E
}

// Notified reports how the hooks of a notification point ran and whether the event was recorded.
type Notified struct {
	Executions []Execution           // of the hooks that ran, by priority
	Errors     []*HookExecutionError // errors of the hooks that failed, in the order of Executions
	Event      string
	RecordErr  error
}

func newNotification[E any](kind events.Kind, rules notificationRules[E]) *NotificationPoint[E] {
	return &NotificationPoint[E]{info: infoOf(kind), rules: rules, copyEvent: copier[E]()}
}

// Kind returns the kind of the point and of its events.
func (p *NotificationPoint[E]) Kind() events.Kind { return p.info.kind }

// Register registers fn and returns its id. See [DecisionPoint.Register] for errors.
func (p *NotificationPoint[E]) Register(r *Registry, fn func(context.Context, Meta, E) error, opts ...Option) (ID, error) {
	return r.add(p.info, orNil(fn, fn == nil), opts)
}

// On is like Register, but logs an error and returns an empty id. [Registry.Err] returns the errors
// of all calls of On.
func (p *NotificationPoint[E]) On(r *Registry, fn func(context.Context, Meta, E) error, opts ...Option) ID {
	return r.on(p.info, orNil(fn, fn == nil), opts)
}

// Dispatch calls the hooks of the point in parallel, each with a copy of e. It waits for the hooks,
// except for those with the option [Async].
func (p *NotificationPoint[E]) Dispatch(ctx context.Context, r *Registry, meta Meta, e E) Notified {
	end := unknown
	if p.rules.ending != nil {
		end = p.rules.ending(e)
	}
	if !r.hasWork(p.info, &meta, "", end) {
		return Notified{}
	}
	return p.dispatch(ctx, r, &meta, end, e)
}

func (p *NotificationPoint[E]) payload(e E, executions []Execution) any {
	p.rules.setExecutions(&e, executions)
	return e
}

type notification[E any] struct {
	dispatch

	mu    sync.Mutex // guards slots and open. A leaf lock
	slots []slot
	open  int // number of empty slots
}

type slot struct {
	call *call // nil when the slot is filled
	ran  bool
	end  Execution
	err  error
}

func (p *NotificationPoint[E]) dispatch(ctx context.Context, r *Registry, meta *Meta, end ending, e E) Notified {
	n := &notification[E]{}
	n.prepareDispatch(ctx, r, p.info, meta, "", end)
	n.runAll(p, e)
	out := Notified{Executions: n.executions, Errors: n.failures}
	if n.event != "" {
		out.Event, out.RecordErr = n.record(p.info.kind, p.payload(e, n.executions))
	}
	if n.chain.hasAsync() {
		e = copied(p.copyEvent, e) // the caller may change its value after Dispatch has returned
		n.startAsync(func(c *call) (bool, error) { return n.ask(c, copied(p.copyEvent, e)) })
	}
	return out
}

func (n *notification[E]) runAll(p *NotificationPoint[E], e E) {
	calls := n.enter()
	if n.open > 0 {
		n.waiter = n.registry.newWaiter()
		defer n.registry.waiters.Put(n.waiter)
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

func (n *notification[E]) enter() []*call {
	hooks := n.chain.list()
	calls := make([]*call, 0, len(hooks))
	n.slots = make([]slot, 0, len(hooks))
	for _, h := range hooks {
		if !h.applies(&n.meta, n.tool, n.ending) {
			continue
		}
		c := n.prepare(h, len(calls))
		calls = append(calls, c)
		if err := n.admit(c); err != nil {
			n.slots = append(n.slots, slot{ran: true, end: c.report(n.now, contribution{}, err), err: err})
			continue
		}
		n.slots = append(n.slots, slot{call: c})
		n.open++
	}
	return calls
}

func (n *notification[E]) start(calls []*call, p *NotificationPoint[E], e E) {
	var inline []*call
	for _, c := range calls {
		switch {
		case n.slots[c.index].call == nil: // not admitted, so the slot is already filled
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

func (n *notification[E]) run(c *call, e E) {
	ran, err := true, error(ErrExited)
	defer func() { n.fill(c, ran, err) }() // deferred, because the hook may call runtime.Goexit
	ran, err = n.ask(c, e)
}

func (n *notification[E]) ask(c *call, e E) (ran bool, err error) {
	defer c.guard(&ran, &err)
	fn, ok := c.hook.fn.(func(context.Context, Meta, E) error)
	if !ok || c.hook.selective() && !c.admits(Subject{}) {
		return false, nil
	}
	return true, fn(c, n.meta, e)
}

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
		n.late(c, contribution{}, err)
	}
}

// The caller of put must hold n.mu.
func (n *notification[E]) put(c *call, now time.Duration, ran bool, err error) {
	n.slots[c.index] = slot{ran: ran || err != nil, end: c.report(now, contribution{}, err), err: err}
	if n.open--; n.open == 0 {
		n.waiter.done <- struct{}{} // does not block, because the channel is buffered and gets one value
	}
}

func (n *notification[E]) wait() {
	n.waiter.timer.Reset(n.chain.shortest)
	defer n.waiter.timer.Stop()
	cancelled := n.ctx.Done()
	for {
		select {
		case <-n.waiter.done:
			return
		case <-n.waiter.timer.C:
		case <-cancelled:
			cancelled = nil
		}
		n.waiter.timer.Reset(n.giveUp())
	}
}

func (n *notification[E]) giveUp() time.Duration {
	now := n.clock()
	n.mu.Lock()
	defer n.mu.Unlock()
	n.noteCancelled(now)
	again := n.chain.shortest
	for _, s := range n.slots {
		if s.call == nil {
			continue
		}
		left := n.left(s.call, now)
		if left <= 0 {
			n.put(s.call, now, true, n.abandon(s.call, now))
			continue
		}
		again = min(again, left)
	}
	return again
}

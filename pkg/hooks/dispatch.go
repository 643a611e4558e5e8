package hooks

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

// The limits on executions that have not ended, per hook. One that is over
// fails at once, so that a hook that blocks for ever costs neither every
// dispatch its deadline nor the process its memory.
const (
	maxStray = 64   // abandoned by their dispatch
	maxAsync = 1024 // asynchronous
)

// flight is one dispatch while its hooks run. Either the caller or one worker
// beside it owns it and what the hooks have said so far. The worker has it until
// its segment of the chain is done, but for the time inside a hook: then the
// caller may take it back, by taking call, and the worker is abandoned.
type dispatch struct {
	ctx      context.Context //nolint:containedctx // the parent of those that the hooks get
	registry *Registry
	chain    *chain
	meta     Meta
	tool     string // what the hooks' globs look at
	ending   ending
	event    string // id of the event that will record it; empty for none
	began    time.Time
	now      time.Duration // since then, when the last execution ended

	executions []Execution
	failures   []*HookExecutionError
	calls      []call  // room for those to come
	waiter     *waiter // nil until it is needed

	call      atomic.Pointer[call] // the execution that the worker is in; nil while it owns the flight
	cancelled atomic.Int64         // when the caller noticed that its context has ended; 0 until then
}

// takeOff begins a dispatch.
func (f *dispatch) prepareDispatch(ctx context.Context, r *Registry, info *pointInfo, meta *Meta, tool string, end ending) {
	f.ctx, f.registry, f.chain = ctx, r, r.chains[info.index].Load()
	f.meta, f.tool, f.ending = *meta, tool, end
	f.began = time.Now()
	if f.meta.Time.IsZero() {
		f.meta.Time = f.began.UTC()
		if r.opts.Now != nil {
			f.meta.Time = r.opts.Now()
		}
	}
	if r.opts.Appender != nil {
		f.event = events.NewID()
	}
	if n := len(f.hooks()); n > 0 {
		f.executions = make([]Execution, 0, n)
		f.calls = make([]call, n)
	}
}

// clock returns the time since the dispatch began.
func (f *dispatch) clock() time.Duration { return time.Since(f.began) }

// hooks returns the chain's hooks that the dispatch waits for.
func (f *dispatch) hooks() []*hook {
	if f.chain == nil {
		return nil
	}
	return f.chain.hooks
}

// concerns tells whether a dispatch has to do anything at all.
func (r *Registry) hasWork(info *pointInfo, meta *Meta, tool string, end ending) bool {
	if r == nil {
		return false
	}
	if r.opts.Appender != nil {
		return true
	}
	c := r.chains[info.index].Load()
	if c == nil {
		return false
	}
	for _, list := range [...][]*hook{c.hooks, c.async} {
		for _, h := range list {
			if h.applies(meta, tool, end) {
				return true
			}
		}
	}
	return false
}

// prepare makes the call of hook i of the chain.
func (f *dispatch) prepare(h *hook, i int) *call {
	c := &f.calls[0]
	f.calls = f.calls[1:]
	c.dispatch, c.hook, c.index = f, h, i
	return c
}

// admit starts the time of c, unless there is a reason to fail it at once.
func (f *dispatch) admit(c *call) error {
	c.start = f.now
	c.deadline = min(c.start+c.hook.timeout, f.registry.opts.ChainTimeout)
	switch {
	case c.start >= f.registry.opts.ChainTimeout:
		return ErrChainTimedOut
	case c.hook.abandoned.Load() >= maxStray:
		return ErrBusy
	case f.ctx.Err() != nil:
		return ErrCancelled
	}
	return nil
}

// begin lets the worker enter the hook of c, unless admit finds a reason not to.
// From here on the caller may take the flight back.
func (f *dispatch) begin(c *call) error {
	if err := f.admit(c); err != nil {
		return err
	}
	f.call.Store(c)
	// The caller notes its cancellation before it looks at call: either it sees c
	// or this sees the note.
	if f.cancelled.Load() != 0 && f.call.CompareAndSwap(c, nil) {
		return ErrCancelled
	}
	return nil
}

// claim takes the flight back for the worker after c has returned. It returns
// false if the caller was faster. An answer after the deadline becomes an error.
func (f *dispatch) claim(c *call, err *error) bool {
	mine := f.call.CompareAndSwap(c, nil)
	c.end(&errCanceled)
	now := f.clock()
	if mine {
		f.now = now
	}
	if now >= c.deadline {
		*err = ErrTimedOut
	}
	return mine
}

// seize takes the flight back for the caller if the execution has outstayed its
// time, and returns it; else it returns how long to wait until looking again.
func (f *dispatch) takeOver() (*call, time.Duration) {
	now := f.clock()
	f.noteCancelled(now)
	c := f.call.Load()
	if c == nil {
		return nil, f.chain.shortest
	}
	if left := f.left(c, now); left > 0 {
		return nil, min(left, f.chain.shortest)
	}
	if !f.call.CompareAndSwap(c, nil) {
		return nil, f.chain.shortest
	}
	f.now = now
	return c, 0
}

// noteCancel remembers when the caller's context has ended.
func (f *dispatch) noteCancelled(now time.Duration) {
	if f.ctx.Err() != nil {
		f.cancelled.CompareAndSwap(0, int64(max(now, 1)))
	}
}

// left returns how long the caller still waits for c.
func (f *dispatch) left(c *call, now time.Duration) time.Duration {
	until := c.deadline
	if cancelled := time.Duration(f.cancelled.Load()); cancelled != 0 {
		until = min(until, cancelled)
	}
	if c.hook.isolation == External {
		until += Grace
	}
	return until - now
}

// forsake ends the context of c, which the caller does not wait for any longer,
// and returns why.
func (f *dispatch) abandon(c *call, now time.Duration) error {
	c.hook.abandoned.Add(1)
	f.registry.outstanding.add(false)
	if now < c.deadline {
		c.end(&errCanceled)
		return ErrCancelled
	}
	c.end(&errDeadline)
	return ErrTimedOut
}

// report returns the report on c, which has just ended.
func (c *call) report(now time.Duration, what contribution, err error) (x Execution) {
	c.reportInto(&x, now, what, err)
	return x
}

// reportIn is report where there is a place for it.
func (c *call) reportInto(x *Execution, now time.Duration, what contribution, err error) {
	x.Hook, x.Name, x.Point = string(c.hook.id), c.hook.name, c.hook.info.kind
	x.DurationMS = float64((now - c.start).Microseconds()) / 1000
	x.Verdict, x.Modified = what.verdict, what.modified
	x.Success = err == nil
	if err != nil {
		x.Error, x.TimedOut = faultOf(err), inspected(err).timedOut
	}
}

// failed notes that c has failed.
func (f *dispatch) failed(c *call, err error) {
	h := c.hook
	f.failures = append(f.failures, &HookExecutionError{Hook: h.id, Name: h.name, Point: h.info.kind, Agent: f.meta.Agent, Err: err})
	f.log(c, err)
}

// log tells of a failure.
func (f *dispatch) log(c *call, err error) {
	h := c.hook
	fault, _ := err.(Fault) //nolint:errorlint // of the dispatch itself
	if h.onFailure == Ignore || fault == ErrCancelled {
		return
	}
	f.registry.opts.Logger.LogAttrs(f.ctx, slog.LevelWarn, "hook failed",
		slog.String("hook", string(h.id)), slog.String("name", h.name), slog.String("point", string(h.info.kind)),
		slog.String("agent", f.meta.Agent), slog.String("run", f.meta.Run), slog.String("step", f.meta.Step),
		slog.String("error", faultOf(err)), slog.String("on_failure", h.onFailure.String()))
}

// late records that c has ended after it was abandoned. The flight is not ours.
func (f *dispatch) late(c *call, s contribution, err error) {
	f.recordExecuted(f.ctx, c.report(f.clock(), s, err), true)
	c.hook.abandoned.Add(-1)
	f.registry.outstanding.done()
}

package hooks

import (
	"context"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/hooktrail/hooktrail/pkg/events"
)

const (
	maxAbandoned = 64
	maxAsync     = 1024
)

// Only the worker that runs the hooks may use a dispatch. A caller that gives up on a hung hook
// sets call to nil.
type dispatch struct {
	ctx      context.Context //nolint:containedctx // the parent of those that the hooks get
	registry *Registry
	chain    *chain
	meta     Meta
	tool     string
	ending   ending
	event    string // id of the event to record, empty if nothing is recorded
	began    time.Time
	now      time.Duration // end of the last execution, measured from began

	executions []Execution
	failures   []*HookExecutionError
	calls      []call // not used yet
	first      segment
	share      share
	interval   time.Duration // between checks for a hook that does not return
	waiter     *waiter       // nil until the first hook that needs a worker

	call      atomic.Pointer[call] // the running execution, nil while the worker owns the dispatch
	cancelled atomic.Int64         // when the caller noticed the end of its context, or 0
}

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
	f.divide()
	if n := len(f.chain.list()); n > 0 {
		f.executions = make([]Execution, 0, n)
		f.calls = make([]call, n)
	}
}

func (f *dispatch) clock() time.Duration { return time.Since(f.began) }

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

func (f *dispatch) prepare(h *hook, i int) *call {
	c := &f.calls[0]
	f.calls = f.calls[1:]
	c.dispatch, c.hook, c.index = f, h, i
	return c
}

func (f *dispatch) admit(c *call) error {
	c.start = f.now
	c.deadline = min(c.start+c.hook.timeout, f.registry.opts.ChainTimeout)
	switch {
	case c.start >= f.registry.opts.ChainTimeout:
		return ErrChainTimedOut
	case c.hook.abandoned.Load() >= maxAbandoned:
		return ErrBusy
	case f.ctx.Err() != nil:
		return ErrCancelled
	}
	return nil
}

func (f *dispatch) begin(c *call) error {
	if err := f.admit(c); err != nil {
		return err
	}
	if c.deadline = min(c.deadline, f.share.end(c.hook, c.start)); c.deadline <= c.start {
		return ErrChainTimedOut
	}
	f.call.Store(c)
	// A caller that cancels sets f.cancelled and then reads f.call. This function does the reverse,
	// so at least one of the two sees the cancellation.
	if f.cancelled.Load() != 0 && f.call.CompareAndSwap(c, nil) {
		return ErrCancelled
	}
	return nil
}

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

func (f *dispatch) takeOver() (*call, time.Duration) {
	now := f.clock()
	f.noteCancelled(now)
	c := f.call.Load()
	if c == nil {
		return nil, f.interval
	}
	if left := f.left(c, now); left > 0 {
		return nil, min(left, f.interval)
	}
	if !f.call.CompareAndSwap(c, nil) {
		return nil, f.interval
	}
	f.now = now
	return c, 0
}

func (f *dispatch) noteCancelled(now time.Duration) {
	if f.ctx.Err() != nil {
		f.cancelled.CompareAndSwap(0, int64(max(now, 1)))
	}
}

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

func (c *call) report(now time.Duration, given contribution, err error) (x Execution) {
	x.Hook, x.Name, x.Point = string(c.hook.id), c.hook.name, c.hook.info.kind
	x.DurationMS = float64((now - c.start).Microseconds()) / 1000
	x.Verdict, x.Modified = given.verdict, given.modified
	x.Success = err == nil
	if err != nil {
		x.Error, x.TimedOut = faultOf(err), inspected(err).timedOut
	}
	return x
}

func (f *dispatch) failed(c *call, err error) {
	h := c.hook
	f.failures = append(f.failures, &HookExecutionError{Hook: h.id, Name: h.name, Point: h.info.kind, Agent: f.meta.Agent, Err: err})
	f.log(c, err)
}

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

// late runs after the dispatch has ended, so it may only read fields that never change.
func (f *dispatch) late(c *call, s contribution, err error) {
	f.recordExecuted(f.ctx, c.report(f.clock(), s, err), true)
	c.hook.abandoned.Add(-1)
	f.registry.outstanding.done()
}

package hooks

import (
	"context"
	"errors"
	"time"
)

// sequence is the typed half of a dispatch whose hooks run one after the other.
type sequence interface {
	// invoke calls the hook of c with the input as it is now, from begin to
	// claim, and counts in what it answers.
	invoke(c *call) fate
	// block counts in that a hook that blocks has failed.
	block(h *hook, err error)
}

// fate is how a chain goes on after one of its hooks.
type fate uint8

const (
	goesOn fate = iota
	ends
	lost // the flight belongs to the caller again; touch nothing of it
)

// Where a worker has stopped, instead of an index.
const (
	stoppedLost   = -1
	stoppedExited = -2
)

// sequence runs the hooks in their order: those that are isolated beside the
// caller, a segment of neighbours on one worker.
func (f *flight) sequence(ctx context.Context, s sequence) {
	hooks := f.hooks()
	for i := 0; i < len(hooks); {
		switch h := hooks[i]; {
		case !h.wanted(&f.meta, f.tool, f.ending):
			i++
		case h.isolation == Inline:
			i = (&worker{flight: f, sequence: s}).segment(ctx, i)
		default:
			if f.bench == nil {
				f.bench = f.registry.sit()
				defer f.registry.benches.Put(f.bench)
			}
			go (&worker{flight: f, sequence: s}).run(ctx, i)
			i = f.await(ctx, s)
		}
	}
}

// bench is where a caller waits for its workers.
type bench struct {
	timer *time.Timer // stopped between dispatches
	done  chan int    // where the worker stopped; its sender is the owner of the flight
}

func (r *Registry) sit() *bench {
	if b, ok := r.benches.Get().(*bench); ok {
		return b
	}
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	return &bench{timer: timer, done: make(chan int, 1)}
}

// worker runs a segment of a chain.
type worker struct {
	flight   *flight
	sequence sequence
	call     *call // the last one
}

// segment runs the hooks from i up to the first one that is not isolated alike,
// and returns where it stopped.
func (w *worker) segment(ctx context.Context, i int) int {
	f, hooks := w.flight, w.flight.chain.hooks
	inline := hooks[i].isolation == Inline
	for ; i < len(hooks) && (hooks[i].isolation == Inline) == inline; i++ {
		if !hooks[i].wanted(&f.meta, f.tool, f.ending) {
			continue
		}
		w.call = f.prepare(ctx, hooks[i], i)
		switch w.sequence.invoke(w.call) {
		case goesOn:
		case ends:
			return len(hooks)
		case lost:
			return stoppedLost
		}
	}
	return i
}

// run runs a segment beside the caller, and tells where it stopped.
func (w *worker) run(ctx context.Context, i int) {
	stopped := stoppedExited
	defer func() {
		if stopped == stoppedExited {
			stopped = w.exited()
		}
		if stopped != stoppedLost {
			w.flight.bench.done <- stopped
		}
	}()
	stopped = w.segment(ctx, i)
}

// exited counts in that the hook has ended the worker's goroutine.
func (w *worker) exited() int {
	err := error(ErrExited)
	if !w.flight.claim(w.call, &err) {
		w.flight.late(w.call, Execution{}, err)
		return stoppedLost
	}
	if w.flight.settle(w.sequence, w.call, Execution{}, err) == ends {
		return len(w.flight.chain.hooks)
	}
	return w.call.index + 1
}

// await waits for the worker, or goes on without it when its hook has outstayed
// its time, and returns with which hook.
func (f *flight) await(ctx context.Context, s sequence) int {
	f.bench.timer.Reset(f.chain.shortest)
	defer f.bench.timer.Stop()
	cancelled := ctx.Done()
	for {
		select {
		case next := <-f.bench.done:
			return next
		case <-f.bench.timer.C:
		case <-cancelled:
			cancelled = nil
		}
		c, again := f.seize(ctx)
		if c == nil {
			f.bench.timer.Reset(again)
			continue
		}
		if f.settle(s, c, Execution{}, f.forsake(c, f.now)) == ends {
			return len(f.chain.hooks)
		}
		return c.index + 1
	}
}

// settle notes how an execution ended: x says what was decided, if anything.
func (f *flight) settle(s sequence, c *call, x Execution, err error) fate {
	report := f.execution(c, f.now, err)
	report.Verdict, report.Modified = x.Verdict, x.Modified
	f.executions = append(f.executions, report)
	if err == nil {
		return goesOn
	}
	f.failed(c, err)
	if c.hook.onFailure != Block {
		return goesOn
	}
	s.block(c.hook, err)
	return ends
}

// timedOut tells whether err says that a hook took too long.
func timedOut(err error) bool {
	return errors.Is(err, ErrTimedOut) || errors.Is(err, ErrChainTimedOut) || errors.Is(err, context.DeadlineExceeded)
}

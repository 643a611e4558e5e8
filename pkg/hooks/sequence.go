package hooks

import "time"

// sequence is the typed half of a dispatch whose hooks run one after the other.
type sequence interface {
	// invoke calls the hook of c with the input as it is now, from begin to
	// claim, and counts in what it answers.
	invoke(c *call) fate
	// block counts in that a hook that blocks has failed.
	block(h *hook, err error) fate
}

// fate is how a chain goes on after one of its hooks.
type fate uint8

const (
	goesOn fate = iota
	ends
	lost // the flight belongs to the caller again; touch nothing of it
)

// run runs the hooks in their order: those that are isolated beside the caller,
// neighbours on one worker, the others on the caller itself.
func (f *flight) run(s sequence) {
	hooks := f.hooks()
	for i := 0; i < len(hooks); {
		h := hooks[i]
		if !h.wanted(&f.meta, f.tool, f.ending) {
			i++
			continue
		}
		g := &segment{flight: f, sequence: s, next: i}
		if h.isolation == Inline {
			g.run()
			i = g.next
			continue
		}
		i = f.beside(g)
	}
}

// beside runs g on a worker, and returns the hook to go on with.
func (f *flight) beside(g *segment) int {
	if f.bench == nil {
		f.bench = f.registry.sit()
		// Nobody else has the bench: an abandoned worker does not touch it.
		defer func() {
			f.registry.benches.Put(f.bench)
			f.bench = nil
		}()
	}
	f.registry.crew.give(g)
	return f.await(g)
}

// await waits for the worker, or goes on without it when its hook has outstayed
// its time, and returns the hook to go on with.
func (f *flight) await(g *segment) int {
	f.bench.timer.Reset(f.chain.shortest)
	defer f.bench.timer.Stop()
	cancelled := f.ctx.Done()
	for {
		select {
		case <-f.bench.done:
			return g.next
		case <-f.bench.timer.C:
		case <-cancelled:
			cancelled = nil
		}
		c, again := f.seize()
		if c == nil {
			f.bench.timer.Reset(again)
			continue
		}
		if f.settle(g.sequence, c, said{}, f.forsake(c, f.now)) == ends {
			return len(f.chain.hooks)
		}
		return c.index + 1
	}
}

// bench is where a caller waits for its workers.
type bench struct {
	timer *time.Timer   // stopped between dispatches
	done  chan struct{} // room for the one who is done last
}

// sit returns a bench.
func (r *Registry) sit() *bench {
	if b, ok := r.benches.Get().(*bench); ok {
		return b
	}
	timer := time.NewTimer(time.Hour)
	timer.Stop()
	return &bench{timer: timer, done: make(chan struct{}, 1)}
}

// segment is neighbours of a chain that are isolated alike.
type segment struct {
	flight   *flight
	sequence sequence
	next     int   // the hook to begin, and to go on, with
	call     *call // the last one
}

// run runs the hooks of the segment, and returns false if it was abandoned.
func (g *segment) run() bool {
	f, hooks := g.flight, g.flight.chain.hooks
	inline := hooks[g.next].isolation == Inline
	for ; g.next < len(hooks) && (hooks[g.next].isolation == Inline) == inline; g.next++ {
		if !hooks[g.next].wanted(&f.meta, f.tool, f.ending) {
			continue
		}
		g.call = f.prepare(hooks[g.next], g.next)
		switch g.sequence.invoke(g.call) {
		case goesOn:
		case ends:
			g.next = len(hooks)
			return true
		case lost:
			return false
		}
	}
	return true
}

// exited counts in that the hook has ended its goroutine, with which the worker
// went.
func (g *segment) exited() {
	f, err := g.flight, error(ErrExited)
	if !f.claim(g.call, &err) {
		f.late(g.call, said{}, err)
		return
	}
	g.next++
	if f.settle(g.sequence, g.call, said{}, err) == ends {
		g.next = len(f.chain.hooks)
	}
	f.bench.done <- struct{}{}
}

// settle notes how an execution ended, and tells whether the chain goes on.
func (f *flight) settle(s sequence, c *call, what said, err error) fate {
	n := len(f.executions)
	f.executions = f.executions[:n+1] // each hook has its place
	c.reportIn(&f.executions[n], f.now, what, err)
	if err == nil {
		return goesOn
	}
	f.failed(c, err)
	if c.hook.onFailure != Block {
		return goesOn
	}
	return s.block(c.hook, err)
}

package hooks

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// later starts the asynchronous hooks of a dispatch that has been recorded. How
// each ends is recorded on its own. invoke must not touch what the dispatch
// returns.
func (f *dispatch) startAsync(invoke func(*call) (ran bool, err error)) {
	for i, h := range f.chain.async {
		if !h.applies(&f.meta, f.tool, f.ending) {
			continue
		}
		now := f.clock()
		c := &call{dispatch: f, hook: h, index: i, start: now, deadline: now + h.timeout}
		switch {
		case h.running.Load() >= maxAsync:
			f.finishAsync(c, ErrBusy, false)
		case !f.registry.outstanding.add(true):
			f.finishAsync(c, ErrClosed, false)
		default:
			h.running.Add(1)
			go f.runAsync(c, invoke)
		}
	}
}

// invokeLater runs an asynchronous hook. At its deadline it is recorded as timed
// out, and when it ends after that as late.
func (f *dispatch) runAsync(c *call, invoke func(*call) (bool, error)) {
	patience := c.hook.timeout
	if c.hook.isolation == External {
		patience += Grace
	}
	var told atomic.Bool
	recorded := make(chan struct{})
	timer := time.AfterFunc(patience, func() {
		defer close(recorded)
		if told.CompareAndSwap(false, true) {
			f.finishAsync(c, ErrTimedOut, false)
		}
	})
	ran, err := true, error(ErrExited)
	defer func() { // also if the hook ends its goroutine
		if !timer.Stop() {
			<-recorded // that its time was over, before that it has ended
		}
		late := !told.CompareAndSwap(false, true)
		if f.clock() >= c.deadline {
			err = ErrTimedOut
		}
		if ran || err != nil {
			f.finishAsync(c, err, late)
		}
		c.hook.running.Add(-1)
		f.registry.outstanding.done()
	}()
	ran, err = invoke(c)
}

// over ends c and records how.
func (f *dispatch) finishAsync(c *call, err error, late bool) {
	c.end(&errCanceled)
	if err != nil && !late {
		f.log(c, err)
	}
	f.recordExecuted(f.ctx, c.report(f.clock(), contribution{}, err), late)
}

// strays counts the executions that outlive their dispatch.
type outstanding struct {
	mu     sync.Mutex
	n      int
	closed bool
	ended  chan struct{} // closed when n is 0 again; nil if nobody waits
}

// add counts one more; wanted is whether it starts only now. It returns false
// where that is too late, because the registry is closed.
func (s *outstanding) add(applies bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if applies && s.closed {
		return false
	}
	s.n++
	return true
}

// done counts one less.
func (s *outstanding) done() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n--
	if s.n == 0 && s.ended != nil {
		close(s.ended)
		s.ended = nil
	}
}

// close lets none start any more, waits until all have ended or ctx has, and
// returns how many are left.
func (s *outstanding) close(ctx context.Context) int {
	s.mu.Lock()
	s.closed = true
	if s.n == 0 {
		s.mu.Unlock()
		return 0
	}
	if s.ended == nil {
		s.ended = make(chan struct{})
	}
	ended := s.ended
	s.mu.Unlock()
	select {
	case <-ended:
		return 0
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.n
}

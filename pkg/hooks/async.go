package hooks

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// invoke must not use the result of the dispatch, because these hooks can run longer than the
// dispatch.
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

func (f *dispatch) runAsync(c *call, invoke func(*call) (bool, error)) {
	patience := c.hook.timeout
	if c.hook.isolation == External {
		patience += Grace
	}
	var finished atomic.Bool
	recorded := make(chan struct{})
	timer := time.AfterFunc(patience, func() {
		defer close(recorded)
		if finished.CompareAndSwap(false, true) {
			f.finishAsync(c, ErrTimedOut, false)
		}
	})
	ran, err := true, error(ErrExited)
	defer func() { // deferred, because the hook may call runtime.Goexit
		if !timer.Stop() {
			<-recorded // record the timeout before the late end
		}
		late := !finished.CompareAndSwap(false, true)
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

func (f *dispatch) finishAsync(c *call, err error, late bool) {
	c.end(&errCanceled)
	if err != nil && !late {
		f.log(c, err)
	}
	f.recordExecuted(f.ctx, c.report(f.clock(), contribution{}, err), late)
}

type outstanding struct {
	mu     sync.Mutex
	n      int
	closed bool
	ended  chan struct{} // closed when n becomes 0
}

func (s *outstanding) add(isNew bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if isNew && s.closed {
		return false
	}
	s.n++
	return true
}

func (s *outstanding) done() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n--
	if s.n == 0 && s.ended != nil {
		close(s.ended)
		s.ended = nil
	}
}

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

package hooks

import (
	"sync/atomic"
	"time"
)

// later starts the asynchronous hooks of a dispatch that has been recorded. How
// each ends is recorded on its own. invoke must not touch what the dispatch
// returns.
func (f *flight) later(invoke func(*call) (ran bool, err error)) {
	for i, h := range f.chain.async {
		if !h.wanted(&f.meta, f.tool, f.ending) {
			continue
		}
		now := f.clock()
		c := &call{flight: f, hook: h, index: i, start: now, deadline: now + h.timeout}
		switch {
		case h.running.Load() >= maxAsync:
			f.over(c, ErrBusy, false)
		case !f.registry.strays.add(true):
			f.over(c, ErrClosed, false)
		default:
			h.running.Add(1)
			go f.invokeLater(c, invoke)
		}
	}
}

// invokeLater runs an asynchronous hook. At its deadline it is recorded as timed
// out, and when it ends after that as late.
func (f *flight) invokeLater(c *call, invoke func(*call) (bool, error)) {
	patience := c.hook.timeout
	if c.hook.isolation == External {
		patience += Grace
	}
	var told atomic.Bool
	recorded := make(chan struct{})
	timer := time.AfterFunc(patience, func() {
		defer close(recorded)
		if told.CompareAndSwap(false, true) {
			f.over(c, ErrTimedOut, false)
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
			f.over(c, err, late)
		}
		c.hook.running.Add(-1)
		f.registry.strays.done()
	}()
	ran, err = invoke(c)
}

// over ends c and records how.
func (f *flight) over(c *call, err error, late bool) {
	c.end(&errCanceled)
	if err != nil && !late {
		f.log(c, err)
	}
	f.recordExecuted(f.ctx, c.report(f.clock(), said{}, err), late)
}

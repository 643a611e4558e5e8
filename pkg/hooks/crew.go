package hooks

import (
	"sync"
	"time"
)

// linger is how long a worker that nobody needs stays. A fresh one costs a
// goroutine and the growth of its stack.
const linger = 100 * time.Millisecond

// crew is the workers of a registry. Those that are idle leave by themselves
// after a while, or at once when the registry is closed.
type crew struct {
	mu     sync.Mutex // guards what follows
	idle   []*worker  // the last one is the next to be needed
	unused int        // how many of them have not been needed since the last sweep
	sweeps bool       // a sweep is coming
	closed bool       // nobody rests any more
}

// worker is a goroutine that runs segments of chains, one at a time.
type worker struct {
	segments chan *segment // room for one; closed by the crew to send the worker home
}

// give lets a worker run g, and send on the bench of its flight when it is done.
func (c *crew) give(g *segment) {
	c.mu.Lock()
	if n := len(c.idle); n > 0 {
		w := c.idle[n-1]
		c.idle = c.idle[:n-1]
		c.unused = min(c.unused, n-1)
		c.mu.Unlock()
		w.segments <- g
		return
	}
	c.mu.Unlock()
	w := &worker{segments: make(chan *segment, 1)}
	w.segments <- g
	go w.work(c)
}

// work runs segments until the worker is abandoned or sent home.
func (w *worker) work(c *crew) {
	var running *segment
	defer func() {
		if running != nil {
			running.exited()
		}
	}()
	for g := range w.segments {
		running = g
		stays := g.run()
		running = nil
		if !stays {
			return
		}
		done := g.flight.bench.done
		c.rest(w) // first, so that who is told finds it idle
		done <- struct{}{}
	}
}

// rest makes w idle.
func (c *crew) rest(w *worker) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		close(w.segments)
		return
	}
	c.idle = append(c.idle, w)
	if !c.sweeps {
		c.sweeps = true
		time.AfterFunc(linger, c.sweep)
	}
}

// sweep sends home those who have not been needed since the last sweep.
func (c *crew) sweep() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dismiss(c.unused)
	c.unused = len(c.idle)
	c.sweeps = len(c.idle) > 0
	if c.sweeps {
		time.AfterFunc(linger, c.sweep)
	}
}

// close sends home all who are idle, and the others when they are done.
func (c *crew) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.dismiss(len(c.idle))
	c.unused = 0
}

// dismiss sends home the first n who are idle. c.mu is held.
func (c *crew) dismiss(n int) {
	for _, w := range c.idle[:n] {
		close(w.segments)
	}
	c.idle = append(c.idle[:0:0], c.idle[n:]...)
}

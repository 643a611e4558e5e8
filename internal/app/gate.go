package app

import (
	"net/http"
	"sync"
	"time"
)

type gate struct {
	mu       sync.RWMutex // guards all fields below
	handler  http.Handler // nil while the publisher does not run
	full     func() error // why the publisher refuses events, or nil
	deadline time.Time    // when the publisher must end. Zero before the drain
}

// ServeHTTP passes requests to the publisher. While the publisher does not run, it answers 503.
func (g *gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.RLock()
	handler := g.handler
	g.mu.RUnlock()
	if handler == nil {
		w.Header().Set("Retry-After", "1")
		http.Error(w, "the publisher is not running at present", http.StatusServiceUnavailable)
		return
	}
	handler.ServeHTTP(w, r)
}

func (g *gate) open(handler http.Handler, full func() error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.handler, g.full = handler, full
}

func (g *gate) refusal() error {
	g.mu.RLock()
	defer g.mu.RUnlock()
	if g.handler == nil {
		return nil
	}
	return g.full()
}

func (g *gate) close() (deadline time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.handler = nil
	return g.deadlineLocked()
}

func (g *gate) closeBy() (deadline time.Time) {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.deadlineLocked()
}

func (g *gate) deadlineLocked() time.Time {
	if g.deadline.IsZero() {
		return time.Now().Add(closeTimeout)
	}
	return g.deadline
}

func (g *gate) drain(deadline time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.deadline = deadline
}

func (g *gate) draining() bool {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return !g.deadline.IsZero()
}

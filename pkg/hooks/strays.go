package hooks

import (
	"context"
	"sync"
)

// strays counts the executions that outlive their dispatch.
type strays struct {
	mu     sync.Mutex
	n      int
	closed bool
	ended  chan struct{} // closed when n is 0 again; nil if nobody waits
}

// add counts one more; wanted is whether it starts only now. It returns false
// where that is too late, because the registry is closed.
func (s *strays) add(wanted bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if wanted && s.closed {
		return false
	}
	s.n++
	return true
}

// done counts one less.
func (s *strays) done() {
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
func (s *strays) close(ctx context.Context) int {
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

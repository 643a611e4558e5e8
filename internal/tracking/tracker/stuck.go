package tracker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hooktrail/hooktrail/internal/tracking/beads"
)

var errStuck = errors.New("the backend accepts no issues")

func (s *settler) endWhenStuck(ctx context.Context, limit time.Duration, end context.CancelCauseFunc) {
	tick := time.NewTicker(max(limit/20, time.Millisecond))
	defer tick.Stop()
	backlog := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		s.mu.Lock()
		since, why := s.since, s.failed
		s.mu.Unlock()
		if since.IsZero() || time.Since(since) < limit {
			continue
		}
		if n := s.backlog(ctx); n != backlog { // first count, or progress
			backlog = n
			s.noteAccepted(false)
			continue
		}
		if why == nil {
			why = fmt.Errorf("no answer: %w", beads.ErrUnavailable)
		}
		end(fmt.Errorf("%w for %v, the rest waits for the next start: %w", errStuck, limit, why))
		return
	}
}

type backlogCounter interface {
	// Backlog returns the number of issues whose workspace does not yet contain all changes.
	Backlog(ctx context.Context) (int, error)
}

func (s *settler) backlog(ctx context.Context) int {
	c, ok := s.backend.(backlogCounter)
	if !ok {
		return 0
	}
	n, err := c.Backlog(ctx)
	if err != nil {
		return 0
	}
	return n
}

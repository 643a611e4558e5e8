package tracker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hooktrail/hooktrail/internal/tracking/beads"
)

// errStuck ends a drain whose issues nobody takes.
var errStuck = errors.New("issues are not taken")

// watch calls end when the backend has taken nothing for so long, and says why.
func (s *settler) watch(ctx context.Context, long time.Duration, end context.CancelCauseFunc) {
	tick := time.NewTicker(max(long/20, time.Millisecond))
	defer tick.Stop()
	behind := 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		s.mu.Lock()
		since, why := s.since, s.failed
		s.mu.Unlock()
		if since.IsZero() || time.Since(since) < long {
			continue
		}
		if n := s.behind(ctx); n != behind { // fewer than before, or the first look
			behind = n
			s.moved(false)
			continue
		}
		if why == nil {
			why = fmt.Errorf("no answer: %w", beads.ErrUnavailable)
		}
		end(fmt.Errorf("%w for %v, the rest waits for the next start: %w", errStuck, long, why))
		return
	}
}

// measured is a backend that knows how much is on its way to the workspaces.
type measured interface {
	// Behind returns how many issues the workspaces do not have all of.
	Behind(ctx context.Context) (int, error)
}

// behind returns how many issues are on their way to the workspaces, 0 where that
// is not known.
func (s *settler) behind(ctx context.Context) int {
	m, ok := s.backend.(measured)
	if !ok {
		return 0
	}
	n, err := m.Behind(ctx)
	if err != nil {
		return 0
	}
	return n
}

package transport

import (
	"context"
	"math/rand/v2"
	"time"
)

// Backoff is the pause between attempts. Half of it is random, so that publishers do not retry
// together.
type Backoff struct{ delay time.Duration }

const (
	firstDelay = 20 * time.Millisecond
	maxDelay   = 5 * time.Second
)

// Pause waits before the next attempt, until ctx ends or lost is closed.
func (b *Backoff) Pause(ctx context.Context, lost <-chan struct{}) {
	b.delay = min(max(2*b.delay, firstDelay), maxDelay)
	timer := time.NewTimer(b.delay/2 + rand.N(b.delay/2)) //nolint:gosec // jitter
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-lost:
	case <-timer.C:
	}
}

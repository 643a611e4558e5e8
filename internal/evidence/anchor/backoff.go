package anchor

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor/witness"
)

const (
	firstPause = time.Second
	maxPause   = time.Minute
)

type target struct {
	tenant  string
	witness int
}

type backoff struct {
	now    func() time.Time
	logger *slog.Logger

	mu     sync.Mutex // guards sizes and pauses
	sizes  map[target]int64
	pauses map[target]pause
}

type pause struct {
	until  time.Time
	length time.Duration
	err    error
}

func newBackoff(o Options) *backoff {
	return &backoff{now: o.Now, logger: o.Logger, sizes: make(map[target]int64), pauses: make(map[target]pause)}
}

func (b *backoff) size(of target) (size int64, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, t := range [...]target{{witness: of.witness}, of} {
		if p, ok := b.pauses[t]; ok && b.now().Before(p.until) {
			return 0, p.err
		}
	}
	return b.sizes[of], nil
}

func (b *backoff) succeeded(ctx context.Context, of target, size int64, name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sizes[of] = size
	for _, t := range [...]target{{witness: of.witness}, of} {
		if _, ok := b.pauses[t]; ok {
			delete(b.pauses, t)
			b.logger.InfoContext(ctx, "a witness cosigns again", "witness", name, "tenant", t.tenant)
		}
	}
}

func (b *backoff) failed(ctx context.Context, of target, err error, name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.sizes, of) // the next answer of the witness contains its size
	t := target{witness: of.witness}
	if errors.Is(err, witness.ErrForked) || errors.Is(err, witness.ErrUnknownLog) {
		t = of // the witness refuses only this ledger
	}
	now := b.now()
	p, ok := b.pauses[t]
	if ok && now.Before(p.until) {
		return // this request was sent before the pause
	}
	p = pause{length: min(max(2*p.length, firstPause), maxPause), err: err}
	p.until = now.Add(p.length)
	b.pauses[t] = p
	if !ok {
		b.logger.WarnContext(ctx, "a witness does not cosign", "witness", name, "tenant", t.tenant, "error", err)
	}
}

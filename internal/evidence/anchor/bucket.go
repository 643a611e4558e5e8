package anchor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor/bucket"
)

const (
	// Failures in a row before they are told: one is nothing to worry about.
	tellFailures = 3

	// What a drain waits for its turn, when the one whose turn it was does not answer.
	lastSteps = int(bucket.Patience/bucket.StepEvery) + 2*tellFailures
)

// bucketKeeper brings the newest checkpoints into the broker's bucket while it is
// this auditor's turn, and tells everything else that shows checkpoints to others
// whose turn it is. While it is another auditor's, it compares what that one puts
// there with the ledgers here. A nil bucketKeeper is one that was not asked for:
// nobody else is there to take turns with.
type bucketKeeper struct {
	*keeper

	bucket *bucket.Bucket
	lease  *bucket.Lease
	notes  *bucketShelf
	opts   Options

	mu       sync.Mutex // guards what follows
	leading  bool       // as was logged
	yielded  bool       // it was logged that another auditor has the turn
	taken    int        // turns for which everything was brought
	stepped  bool       // the lease was read once
	failures int        // in a row
	failed   error      // the latest
}

// newBucketKeeper returns the keeper of o's bucket.
func newBucketKeeper(o Options) *bucketKeeper {
	b := &bucketKeeper{bucket: o.Bucket, opts: o}
	b.lease = o.Bucket.Lease(o.Contender)
	b.notes = &bucketShelf{bucket: o.Bucket, lease: b.lease, known: make(map[string]bucket.Entry)}
	b.keeper = newKeeper(o, b.notes)
	b.together = b.round
	return b
}

// leads reports whether this auditor may bring checkpoints elsewhere. Where the
// bucket has never been reached or was deleted, and nobody stands by, the other places
// must do without it.
func (b *bucketKeeper) leads() bool {
	if b == nil || b.lease.Held() {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	gone := errors.Is(b.failed, jetstream.ErrStreamNotFound) // nobody has a turn where there is no bucket
	return (!b.stepped || gone) && b.failures > 0 && !b.opts.Contender.Standby
}

// standsBy reports whether another auditor is the one that shows checkpoints.
func (b *bucketKeeper) standsBy() bool {
	if b == nil || b.lease.Held() {
		return false
	}
	_, other := b.lease.Holder()
	return other || b.opts.Contender.Standby
}

// run takes part in the turns until ctx ends.
func (b *bucketKeeper) run(ctx context.Context) {
	if b == nil {
		return
	}
	clock := time.NewTicker(bucket.StepEvery)
	defer clock.Stop()
	for {
		if b.step(ctx) {
			b.rounds.round(ctx) // now: nobody has since the one before stopped
		}
		select {
		case <-ctx.Done():
			return
		case <-clock.C:
		}
	}
}

// step looks whose turn it is, and reports whether it has become this auditor's.
func (b *bucketKeeper) step(ctx context.Context) (taken bool) {
	err := b.lease.Step(ctx)
	if err != nil && ctx.Err() != nil {
		return false
	}
	if b.note(ctx, err); err != nil {
		return false
	}
	return b.turn(ctx, b.lease.Held())
}

// note remembers how the bucket can be reached, and logs it when that changed.
func (b *bucketKeeper) note(ctx context.Context, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil {
		b.failed = fmt.Errorf("whose turn it is to keep checkpoints is not known: %w", err)
		if b.failures++; b.failures == tellFailures {
			b.logger.ErrorContext(ctx, "the bucket of checkpoints cannot be used", "error", err)
		}
		return
	}
	if b.failures >= tellFailures {
		b.logger.InfoContext(ctx, "the bucket of checkpoints can be used again")
	}
	b.failures, b.failed, b.stepped = 0, nil, true
}

// turn logs when the turn has changed, and reports whether it has become this
// auditor's, who brings everything then: it does not know what the one before has
// brought.
func (b *bucketKeeper) turn(ctx context.Context, held bool) (taken bool) {
	n := b.lease.Taken()
	b.mu.Lock()
	before, again := b.leading, n != b.taken
	b.leading, b.taken = held, n
	b.yielded = b.yielded && !held
	b.mu.Unlock()
	if before == held && !again {
		if b.lease.Answered() {
			b.yield(ctx)
		}
		return false
	}
	b.notes.forget()
	b.all(ctx)
	if held {
		b.logger.InfoContext(ctx, "this auditor keeps checkpoints from now on", "bucket", b.bucket.Name())
		return true
	}
	if _, other := b.lease.Holder(); other { // it may be that none is known: the broker does not answer
		b.yield(ctx)
	}
	return false
}

// yield logs, once for each time, that another auditor has the turn.
func (b *bucketKeeper) yield(ctx context.Context) {
	b.mu.Lock()
	told := b.yielded
	b.yielded = true
	b.mu.Unlock()
	if told {
		return
	}
	holder, _ := b.lease.Holder()
	level := slog.LevelWarn
	if b.opts.Contender.Standby {
		level = slog.LevelInfo
	}
	b.logger.Log(ctx, level, "another auditor keeps checkpoints now: this one stands by", "bucket", b.bucket.Name(), "holder", holder)
}

// failure returns why the bucket cannot be used, nil when it can.
func (b *bucketKeeper) failure() error {
	if b == nil {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failures < tellFailures {
		return nil
	}
	return b.failed
}

// round brings, or compares, the checkpoints of tenants.
func (b *bucketKeeper) round(ctx context.Context, tenants []string) {
	for chunk := range slices.Chunk(tenants, bucket.MaxPlaced) {
		if b.over(ctx, chunk...) {
			continue
		}
		switch _, other := b.lease.Holder(); {
		case b.lease.Held():
			b.put(ctx, chunk)
		case other:
			for _, tenant := range chunk {
				b.compare(ctx, tenant)
			}
		default: // not known yet, or not any more
			b.again(chunk)
		}
	}
}

// put brings the checkpoints of tenants in one batch. When somebody has written
// meanwhile it looks once more.
func (b *bucketKeeper) put(ctx context.Context, tenants []string) {
	for range 2 {
		placed := b.placed(ctx, tenants)
		if len(placed) == 0 {
			return
		}
		err := b.lease.Put(ctx, placed)
		if err == nil {
			for _, p := range placed {
				b.notes.remember(p)
				b.done(ctx, p.Tenant, nil)
			}
			return
		}
		tenants = tenants[:0:0]
		for _, p := range placed {
			tenants = append(tenants, p.Tenant)
			b.notes.forget(p.Tenant)
			if !errors.Is(err, bucket.ErrConflict) {
				b.done(ctx, p.Tenant, err)
			}
		}
		if !errors.Is(err, bucket.ErrConflict) {
			return
		}
		if b.step(ctx); !b.lease.Held() {
			break
		}
	}
	b.again(tenants)
}

// placed returns the checkpoints of tenants that the bucket has not.
func (b *bucketKeeper) placed(ctx context.Context, tenants []string) []bucket.Placed {
	placed := make([]bucket.Placed, 0, len(tenants))
	for i, tenant := range tenants {
		if b.over(ctx, tenants[i:]...) {
			break
		}
		signed, revision, err := b.prepare(ctx, tenant)
		if err != nil || signed == nil {
			b.done(ctx, tenant, err)
			continue
		}
		placed = append(placed, bucket.Placed{Tenant: tenant, Signed: signed, Revision: revision})
	}
	return placed
}

// compare tells whether the ledger here is the one whose checkpoints another
// auditor keeps. It may be behind.
func (b *bucketKeeper) compare(ctx context.Context, tenant string) {
	b.notes.forget(tenant)
	_, _, err := b.prepare(ctx, tenant)
	if errors.Is(err, errBehind) {
		err = nil
	}
	b.done(ctx, tenant, err)
}

// beforeLast sees to it that the last checkpoints can be brought. A drain waits for
// its turn, unless another auditor is alive.
func (b *bucketKeeper) beforeLast(ctx context.Context) {
	if b == nil {
		return
	}
	tick := time.NewTicker(bucket.StepEvery)
	defer tick.Stop()
	for range lastSteps {
		b.step(ctx)
		if b.lease.Held() || !b.opts.Drain || b.lease.Answered() || b.failure() != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// afterLast gives the turn to whoever wants it.
func (b *bucketKeeper) afterLast(ctx context.Context) {
	if b == nil {
		return
	}
	if err := b.lease.Release(ctx); err != nil {
		b.logger.WarnContext(ctx, "others have to wait before they keep checkpoints", "error", err)
	}
}

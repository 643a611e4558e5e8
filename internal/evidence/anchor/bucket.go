package anchor

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor/bucket"
)

const drainRefreshes = int(bucket.TakeoverAfter/bucket.RefreshInterval) + 2*reportAfter

type bucketAnchor struct {
	leadership *leadership
	storage    *bucketStorage
	anchor     *storageAnchor
	uploads    *uploads // of anchor
	drain      bool
}

func newBucketAnchor(o Options) *bucketAnchor {
	lease := o.Bucket.Lease(o.Candidate)
	b := &bucketAnchor{
		leadership: &leadership{lease: lease, name: o.Bucket.Name(), standby: o.Candidate.Standby, logger: o.Logger},
		storage:    &bucketStorage{bucket: o.Bucket, lease: lease, known: make(map[string]bucket.Entry)},
		drain:      o.Drain,
	}
	b.anchor = newStorageAnchor(o, b.storage)
	b.uploads = b.anchor.uploads
	b.uploads.uploadAll = b.uploadAll
	return b
}

func (b *bucketAnchor) run(ctx context.Context) {
	clock := time.NewTicker(bucket.RefreshInterval)
	defer clock.Stop()
	for {
		if b.refresh(ctx) {
			b.uploads.round(ctx) // the previous holder no longer uploads
		}
		select {
		case <-ctx.Done():
			return
		case <-clock.C:
		}
	}
}

func (b *bucketAnchor) refresh(ctx context.Context) (taken bool) {
	changed, taken := b.leadership.refresh(ctx)
	if changed {
		b.storage.forget()
		b.uploads.queueAll(ctx)
	}
	return taken
}

func (b *bucketAnchor) uploadAll(ctx context.Context, tenants []string) {
	lease := b.leadership.lease
	for chunk := range slices.Chunk(tenants, bucket.MaxUploads) {
		if b.uploads.isLate(ctx, chunk...) {
			continue
		}
		switch _, other := lease.Holder(); {
		case lease.Held():
			b.put(ctx, chunk)
		case other:
			for _, tenant := range chunk {
				b.compare(ctx, tenant)
			}
		default: // the holder is unknown
			b.uploads.queue(chunk)
		}
	}
}

func (b *bucketAnchor) put(ctx context.Context, tenants []string) {
	lease := b.leadership.lease
	for range 2 {
		batch := b.prepare(ctx, tenants)
		if len(batch) == 0 {
			return
		}
		err := lease.Put(ctx, batch)
		if err == nil {
			for _, u := range batch {
				b.storage.remember(u)
				b.uploads.record(ctx, u.Tenant, nil)
			}
			return
		}
		tenants = tenants[:0:0]
		for _, u := range batch {
			tenants = append(tenants, u.Tenant)
			b.storage.forget(u.Tenant)
			if !errors.Is(err, bucket.ErrConflict) {
				b.uploads.record(ctx, u.Tenant, err)
			}
		}
		if !errors.Is(err, bucket.ErrConflict) {
			return
		}
		if b.refresh(ctx); !lease.Held() {
			break
		}
	}
	b.uploads.queue(tenants)
}

func (b *bucketAnchor) prepare(ctx context.Context, tenants []string) []bucket.Upload {
	batch := make([]bucket.Upload, 0, len(tenants))
	for i, tenant := range tenants {
		if b.uploads.isLate(ctx, tenants[i:]...) {
			break
		}
		signed, revision, err := b.anchor.prepare(ctx, tenant)
		if err != nil || signed == nil {
			b.uploads.record(ctx, tenant, err)
			continue
		}
		batch = append(batch, bucket.Upload{Tenant: tenant, Signed: signed, Revision: revision})
	}
	return batch
}

func (b *bucketAnchor) compare(ctx context.Context, tenant string) {
	b.storage.forget(tenant)
	_, _, err := b.anchor.prepare(ctx, tenant)
	if errors.Is(err, errBehind) {
		err = nil
	}
	b.uploads.record(ctx, tenant, err)
}

func (b *bucketAnchor) awaitLease(ctx context.Context) {
	lease := b.leadership.lease
	tick := time.NewTicker(bucket.RefreshInterval)
	defer tick.Stop()
	for range drainRefreshes {
		b.refresh(ctx)
		if lease.Held() || !b.drain || lease.Answered() || b.leadership.failure() != nil {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (b *bucketAnchor) releaseLease(ctx context.Context) {
	if err := b.leadership.lease.Release(ctx); err != nil {
		b.uploads.logger.WarnContext(ctx, "checkpoint lease was not released: other auditors must wait until it expires", "error", err)
	}
}

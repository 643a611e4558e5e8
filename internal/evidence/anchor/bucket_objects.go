package anchor

import (
	"context"
	"sync"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor/bucket"
)

// knownAtMost is how many checkpoints are remembered, so that they need not be
// read again.
const knownAtMost = 4096

// bucketShelf is the bucket as a shelf. What this auditor has put there it
// remembers: while it is its turn nobody else writes.
type bucketShelf struct {
	bucket *bucket.Bucket
	lease  *bucket.Lease

	mu    sync.Mutex // guards known
	known map[string]bucket.Entry
}

// name implements shelf.
func (s *bucketShelf) name() string { return "bucket " + s.bucket.Name() }

// load implements shelf.
func (s *bucketShelf) load(ctx context.Context, tenant string) ([]byte, uint64, error) {
	s.mu.Lock()
	e, ok := s.known[tenant]
	s.mu.Unlock()
	if ok {
		return e.Data, e.Revision, nil
	}
	e, err := s.bucket.Newest(ctx, tenant)
	return e.Data, e.Revision, err
}

// store implements shelf.
func (s *bucketShelf) store(ctx context.Context, tenant string, signed []byte, revision uint64) error {
	return s.lease.Put(ctx, []bucket.Placed{{Tenant: tenant, Signed: signed, Revision: revision}})
}

// remember notes what was put.
func (s *bucketShelf) remember(p bucket.Placed) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.known) >= knownAtMost {
		clear(s.known)
	}
	s.known[p.Tenant] = bucket.Entry{Data: p.Signed, Revision: p.Revision}
}

// forget has what tenants, or all, have in the bucket read again.
func (s *bucketShelf) forget(tenants ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(tenants) == 0 {
		clear(s.known)
	}
	for _, t := range tenants {
		delete(s.known, t)
	}
}

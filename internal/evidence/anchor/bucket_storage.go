package anchor

import (
	"context"
	"sync"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor/bucket"
)

const maxKnown = 4096

type bucketStorage struct {
	bucket *bucket.Bucket
	lease  *bucket.Lease

	mu    sync.Mutex // guards the field known
	known map[string]bucket.Entry
}

func (s *bucketStorage) name() string { return "bucket " + s.bucket.Name() }

func (s *bucketStorage) load(ctx context.Context, tenant string) ([]byte, uint64, error) {
	s.mu.Lock()
	e, ok := s.known[tenant]
	s.mu.Unlock()
	if ok {
		return e.Data, e.Revision, nil
	}
	e, err := s.bucket.Newest(ctx, tenant)
	return e.Data, e.Revision, err
}

func (s *bucketStorage) store(ctx context.Context, tenant string, signed []byte, revision uint64) error {
	return s.lease.Put(ctx, []bucket.Upload{{Tenant: tenant, Signed: signed, Revision: revision}})
}

func (s *bucketStorage) remember(u bucket.Upload) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.known) >= maxKnown {
		clear(s.known)
	}
	s.known[u.Tenant] = bucket.Entry{Data: u.Signed, Revision: u.Revision}
}

func (s *bucketStorage) forget(tenants ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(tenants) == 0 {
		clear(s.known)
	}
	for _, t := range tenants {
		delete(s.known, t)
	}
}

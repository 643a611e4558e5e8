package writer

import (
	"context"
	"errors"
	"sync"
)

// maxParallel is the number of ledgers that [Set.Each] writes in parallel. They wait for the
// disk most of the time.
const maxParallel = 16

// Each calls fn for each of tenants, which are unique, with its ledger or the error of
// [Open]. It runs several calls in parallel and returns when all have returned. The ledger
// belongs to fn until it returns. If fn returns true, the ledger belongs to the caller until
// [Set.Release].
func (s *Set) Each(ctx context.Context, tenants []string, fn func(tenant string, l *Ledger, err error) (retained bool)) {
	next := make(chan string)
	var wg sync.WaitGroup
	for range min(maxParallel, len(tenants), s.limit) {
		wg.Go(func() {
			for tenant := range next {
				l, err := s.Acquire(ctx, tenant)
				if retained := fn(tenant, l, err); l != nil && !retained {
					s.Release(l)
				}
			}
		})
	}
	for _, tenant := range s.openFirst(tenants) {
		next <- tenant
	}
	close(next)
	wg.Wait()
}

// openFirst sorts the tenants with an open ledger first, before other ones close it.
func (s *Set) openFirst(tenants []string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var first, rest []string
	for _, tenant := range tenants {
		if _, ok := s.open[tenant]; ok {
			first = append(first, tenant)
		} else {
			rest = append(rest, tenant)
		}
	}
	return append(first, rest...)
}

// Acquire opens the ledger of tenant as [Open] does and takes it out of the Set. The ledger
// belongs to the caller until [Set.Release] and works in parallel with the Set. Meanwhile no
// caller may ask the Set for that tenant. Acquire may close another ledger.
func (s *Set) Acquire(ctx context.Context, tenant string) (*Ledger, error) {
	l, old, opts, err := s.reserve(tenant)
	if old != nil {
		err = errors.Join(err, old.Close())
	}
	if err == nil && l == nil {
		l, err = Open(ctx, s.dir, tenant, opts)
	}
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.acquired--
		return nil, err
	}
	return l, nil
}

// reserve returns the ledger if it is open. Otherwise it returns the ledger to close first,
// and the options to open the new one.
func (s *Set) reserve(tenant string) (l, old *Ledger, opts Options, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.acquired++
	if e, ok := s.open[tenant]; ok {
		return s.remove(e), nil, opts, nil
	}
	if s.acquired+s.recent.Len() > s.limit && s.recent.Len() > 0 {
		old = s.remove(s.recent.Back())
	}
	err = s.divide(s.recent.Len() + s.acquired)
	opts = s.opts
	opts.CacheBytes = s.share
	return nil, old, opts, err
}

// Release returns a ledger from [Set.Acquire] to the Set.
func (s *Set) Release(l *Ledger) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.acquired--
	s.open[l.tenant] = s.recent.PushFront(l)
}

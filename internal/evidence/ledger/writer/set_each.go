package writer

import (
	"context"
	"errors"
	"sync"
)

const maxParallel = 16

// Each calls fn for each tenant, and returns when all calls have returned. The calls run in
// parallel, and each gets the tenant's ledger or the error of [Open]. Tenants must be distinct. If
// fn returns true, the ledger stays reserved until [Set.Release].
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

// openFirst returns the tenants with open ledgers first, because opening another ledger may close
// theirs.
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

// Acquire reserves the ledger of a tenant for the caller, and opens it if necessary. Until
// [Set.Release], no other call of the Set may name this tenant.
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

// reserve leaves closing old to its caller, because closing a ledger here would block other
// callers.
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

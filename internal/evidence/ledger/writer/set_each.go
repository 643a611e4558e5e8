package writer

import (
	"container/list"
	"context"
	"errors"
	"sync"
)

// maxParallel is the number of ledgers that [Set.Each] writes in parallel. They wait for the
// disk most of the time.
const maxParallel = 16

// Each calls fn for each of tenants with its ledger, or with the error of [Open]. It runs
// several calls in parallel, so that no tenant waits for all others. tenants must be unique.
// The ledger belongs to fn until it returns. If fn returns true, the ledger belongs to the
// caller until [Set.TakeBack]. Each returns when all calls have returned.
func (s *Set) Each(ctx context.Context, tenants []string, fn func(tenant string, l *Ledger, err error) (kept bool)) {
	next := make(chan string)
	var wg sync.WaitGroup
	for range min(maxParallel, len(tenants), s.limit) {
		wg.Go(func() {
			for tenant := range next {
				l, err := s.Lend(ctx, tenant)
				if kept := fn(tenant, l, err); l != nil && !kept {
					s.TakeBack(l)
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

// openFirst sorts the tenants with an open ledger first. Otherwise their ledgers could be
// closed before their turn.
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

// Lend opens the ledger of tenant as [Open] does and takes it out of the Set. The ledger
// belongs to the caller until [Set.TakeBack] and works in parallel with the Set. Meanwhile
// no caller may ask the Set for that tenant. Lend may close another ledger.
func (s *Set) Lend(ctx context.Context, tenant string) (*Ledger, error) {
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
		s.lent--
		return nil, err
	}
	return l, nil
}

// reserve makes room for a ledger. It returns the ledger if it is open. Otherwise it returns
// the ledger to close first, and the options to open the new one.
func (s *Set) reserve(tenant string) (l, old *Ledger, opts Options, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lent++
	if e, ok := s.open[tenant]; ok {
		return s.remove(e), nil, opts, nil
	}
	if s.lent+s.recent.Len() > s.limit && s.recent.Len() > 0 {
		old = s.remove(s.recent.Back())
	}
	err = s.divide(s.recent.Len() + s.lent)
	opts = s.opts
	opts.CacheBytes = s.share
	return nil, old, opts, err
}

// remove takes an open ledger out of the Set.
func (s *Set) remove(e *list.Element) *Ledger {
	l, ok := s.recent.Remove(e).(*Ledger)
	if !ok {
		return nil
	}
	delete(s.open, l.tenant)
	return l
}

// TakeBack returns a ledger from [Set.Lend] to the Set.
func (s *Set) TakeBack(l *Ledger) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lent--
	s.open[l.tenant] = s.recent.PushFront(l)
}

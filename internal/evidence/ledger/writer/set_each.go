package writer

import (
	"container/list"
	"context"
	"errors"
	"sync"
)

// maxBeside is how many ledgers [Set.Each] writes to at a time. Each waits for the
// disk most of the time.
const maxBeside = 16

// Each calls fn with the ledger of each of tenants, opened or made as [Open] does,
// or with the error of that: several at a time, so that no tenant waits until all
// others are on disk. A tenant must be named once. The ledger belongs to fn until
// that returns, and to the Set again then, or, where fn returned true, when somebody
// calls [Set.TakeBack]. Each returns when all calls have.
func (s *Set) Each(ctx context.Context, tenants []string, fn func(tenant string, l *Ledger, err error) (kept bool)) {
	next := make(chan string)
	var wg sync.WaitGroup
	for range min(maxBeside, len(tenants), s.limit) {
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

// openFirst puts those in front whose ledgers are open: behind others they would
// be closed before it is their turn.
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

// Lend returns the ledger of tenant, opened or made as [Open] does, and takes it
// out of the Set: it belongs to the caller, who may use it beside whoever uses the
// Set, until [Set.TakeBack]. Meanwhile the Set must not be asked for that tenant.
// It may close another ledger.
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

// reserve makes room for a ledger: it returns it if it is open, and else what is
// to be closed first, and how to open it.
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

// TakeBack puts a ledger that was lent among the others again.
func (s *Set) TakeBack(l *Ledger) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lent--
	s.open[l.tenant] = s.recent.PushFront(l)
}

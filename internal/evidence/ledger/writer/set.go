package writer

import (
	"container/list"
	"context"
	"errors"
	"math/bits"
	"sync"
	"syscall"
)

const maxOpen = 1024

// openLimit returns how many ledgers may be open. Each ledger needs four file descriptors, and all
// of them together may use a quarter of the limit.
func openLimit() int {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return maxOpen / 8
	}
	return int(min(max(files.Cur/16, maxParallel), maxOpen))
}

// A Set opens the ledgers below a folder for writing, and keeps the most recently used ones open.
type Set struct {
	dir   string
	opts  Options
	limit int

	mu       sync.Mutex // guards open, recent, acquired and share; no other lock is taken while it is locked
	open     map[string]*list.Element
	recent   *list.List // of *Ledger, the most recently used first
	acquired int        // ledgers between Acquire and Release
	share    int64      // cache of each ledger, in bytes
}

// OpenSet returns a Set for the ledgers below dir, without opening any of them.
func OpenSet(dir string, opts Options) *Set {
	if opts.CacheBytes <= 0 {
		opts.CacheBytes = 64 << 20
	}
	return &Set{dir: dir, opts: opts, limit: openLimit(), open: make(map[string]*list.Element), recent: list.New()}
}

// Ledger returns the ledger of the given tenant, and opens it if necessary. The caller must not
// close it, because the Set does.
func (s *Set) Ledger(ctx context.Context, tenant string) (*Ledger, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if e, ok := s.open[tenant]; ok {
		s.recent.MoveToFront(e)
		l, _ := e.Value.(*Ledger)
		return l, nil
	}
	if s.recent.Len() >= s.limit {
		if err := s.close(s.recent.Back()); err != nil {
			return nil, err
		}
	}
	if err := s.divide(s.recent.Len() + 1); err != nil {
		return nil, err
	}
	opts := s.opts
	opts.CacheBytes = s.share
	l, err := Open(ctx, s.dir, tenant, opts)
	if err != nil {
		return nil, err
	}
	s.open[tenant] = s.recent.PushFront(l)
	return l, nil
}

func (s *Set) divide(n int) error {
	share := s.opts.CacheBytes >> bits.Len(uint(n-1))
	if share == s.share {
		return nil
	}
	s.share = share
	var errs error
	for e := s.recent.Front(); e != nil; e = e.Next() {
		if l, ok := e.Value.(*Ledger); ok {
			errs = errors.Join(errs, l.resize(share))
		}
	}
	return errs
}

func (s *Set) close(e *list.Element) error { return s.remove(e).Close() }

func (s *Set) remove(e *list.Element) *Ledger {
	l, _ := s.recent.Remove(e).(*Ledger)
	delete(s.open, l.tenant)
	return l
}

// Close closes all open ledgers.
func (s *Set) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs error
	for e := s.recent.Front(); e != nil; e = s.recent.Front() {
		errs = errors.Join(errs, s.close(e))
	}
	return errs
}

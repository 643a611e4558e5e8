package auditor

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
)

const (
	scrubEvery    = time.Second // interval, and first pause after a failure
	maxScrubPause = time.Minute
	slowScrub     = time.Minute // readiness reports a scrub that takes longer
)

type scrubQueue struct {
	// mu guards the other fields.
	mu      sync.Mutex
	tenants map[string]pendingScrub
	current string
	since   time.Time // start of the current scrub, or zero
}

type pendingScrub struct {
	err   error         // error of the last attempt
	pause time.Duration // grows because each attempt writes the whole file
	next  time.Time     // next attempt
}

func (s *scrubQueue) add(tenant string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tenants == nil {
		s.tenants = make(map[string]pendingScrub)
	}
	p := pendingScrub{err: err}
	if err != nil && !errors.Is(err, writer.ErrScrubLater) {
		p.pause = min(max(2*s.tenants[tenant].pause, scrubEvery), maxScrubPause)
		p.next = time.Now().Add(p.pause)
	}
	s.tenants[tenant] = p
}

func (s *scrubQueue) begin(tenant string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.current, s.since = tenant, time.Now()
}

func (s *scrubQueue) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since = time.Time{}
}

func (s *scrubQueue) due() (tenants []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for tenant, p := range s.tenants {
		if !time.Now().Before(p.next) {
			tenants = append(tenants, tenant)
		}
	}
	slices.Sort(tenants)
	return tenants
}

func (s *scrubQueue) done(tenant string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tenants, tenant)
}

func (s *scrubQueue) list() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.tenants))
}

func (s *scrubQueue) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs error
	if took := time.Since(s.since); !s.since.IsZero() && took > slowScrub {
		errs = fmt.Errorf("scrub of the ledger of tenant %q has taken %s: messages of that tenant wait", s.current, took.Round(time.Second))
	}
	for _, tenant := range slices.Sorted(maps.Keys(s.tenants)) {
		if err := s.tenants[tenant].err; err != nil && !errors.Is(err, writer.ErrScrubLater) {
			errs = errors.Join(errs, fmt.Errorf("erased payloads are still in files: %w", err))
		}
	}
	return errs
}

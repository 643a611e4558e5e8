package auditor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hooktrail/hooktrail/internal/ledger"
)

const (
	scrubEvery = time.Second      // how soon what was erased goes from a ledger's files too
	lastScrub  = 10 * time.Second // what that gets when the auditor stops
)

// scrubs are the tenants in whose ledgers something was erased that may still lie
// in the files.
type scrubs struct {
	mu      sync.Mutex // guards what follows
	tenants map[string]error
}

// add notes that something was erased, or why it still lies there.
func (s *scrubs) add(tenant string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tenants == nil {
		s.tenants = make(map[string]error)
	}
	s.tenants[tenant] = err
}

func (s *scrubs) done(tenant string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tenants, tenant)
}

func (s *scrubs) list() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Sorted(maps.Keys(s.tenants))
}

// failure returns why what was erased still lies in files, but for readers that
// stand in the way for a while.
func (s *scrubs) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs error
	for _, tenant := range slices.Sorted(maps.Keys(s.tenants)) {
		if err := s.tenants[tenant]; err != nil && !errors.Is(err, ledger.ErrScrubLater) {
			errs = errors.Join(errs, fmt.Errorf("what was erased still lies in files: %w", err))
		}
	}
	return errs
}

// findUnclean notes the ledgers that were left unclean when the auditor ended.
func (p *projected) findUnclean() error {
	tenants, err := p.opts.tenants()
	for _, tenant := range tenants {
		unclean, failed := ledger.Unclean(LedgerDir(p.opts.DataDir), tenant)
		if err = errors.Join(err, failed); unclean {
			p.scrubs.add(tenant, nil)
		}
	}
	return err
}

// scrubOften scrubs the ledgers in which something was erased until ctx ends.
func (p *projected) scrubOften(ctx context.Context) {
	tick := time.NewTicker(scrubEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			p.scrubAll(ctx)
		}
	}
}

// scrubAll scrubs what there is to scrub now. What fails is noted, and tried again.
func (p *projected) scrubAll(ctx context.Context) {
	for _, tenant := range p.scrubs.list() {
		err := p.scrub(ctx, tenant)
		switch {
		case err == nil:
			p.scrubs.done(tenant)
			p.opts.Logger.InfoContext(ctx, "nothing is left of what was erased", "tenant", tenant)
		case ctx.Err() == nil:
			p.scrubs.add(tenant, err)
			p.opts.Logger.DebugContext(ctx, "a ledger was not scrubbed", "tenant", tenant, "error", err)
		}
	}
}

// lastScrubs scrubs before the auditor ends: a reader is waited for as long as an
// end may take. What is left then the next start finds.
func (p *projected) lastScrubs(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lastScrub)
	defer cancel()
	tick := time.NewTicker(scrubEvery / 10)
	defer tick.Stop()
	for p.scrubAll(ctx); len(p.scrubs.list()) > 0; p.scrubAll(ctx) {
		select {
		case <-ctx.Done():
			p.opts.Logger.WarnContext(ctx, "what was erased still lies in files: the next start takes it out", "tenants", p.scrubs.list())
			return
		case <-tick.C:
		}
	}
}

func (p *projected) scrub(ctx context.Context, tenant string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.held[tenant] != nil {
		return nil // whoever restores that ledger decides about its files
	}
	l, err := p.set.Ledger(ctx, tenant)
	if errors.Is(err, ledger.ErrDamaged) {
		p.hold(ctx, tenant, err)
		return nil
	}
	if err != nil {
		return err
	}
	return l.Scrub(ctx)
}

package auditor

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
)

const (
	scrubEvery = time.Second      // how soon what was erased goes from a ledger's files too
	lastScrub  = 10 * time.Second // how long readers are waited for when the auditor stops
	mostScrub  = time.Minute      // how long one that failed waits at most before it is tried again
	longScrub  = time.Minute      // readiness tells of one that takes longer
)

// scrubs are the tenants in whose ledgers something was erased that may still lie
// in the files.
type scrubs struct {
	mu      sync.Mutex // guards what follows
	tenants map[string]unscrubbed
	now     string    // tenant whose ledger is being scrubbed
	since   time.Time // zero: none is
}

// unscrubbed says what is known of a ledger that is to be scrubbed.
type unscrubbed struct {
	err   error         // why it was not
	pause time.Duration // behind the last time: each writes the whole file, and a full disk stays full for a while
	next  time.Time     // when it is tried again
}

// add notes that something was erased, or why it still lies there.
func (s *scrubs) add(tenant string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.tenants == nil {
		s.tenants = make(map[string]unscrubbed)
	}
	u := unscrubbed{err: err}
	if err != nil && !errors.Is(err, writer.ErrScrubLater) {
		u.pause = min(max(2*s.tenants[tenant].pause, scrubEvery), mostScrub)
		u.next = time.Now().Add(u.pause)
	}
	s.tenants[tenant] = u
}

// began notes whose ledger is being scrubbed from now on.
func (s *scrubs) began(tenant string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now, s.since = tenant, time.Now()
}

func (s *scrubs) ended() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.since = time.Time{}
}

// due returns the tenants whose ledgers are to be scrubbed now.
func (s *scrubs) due() (tenants []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for tenant, u := range s.tenants {
		if !time.Now().Before(u.next) {
			tenants = append(tenants, tenant)
		}
	}
	slices.Sort(tenants)
	return tenants
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
// stand in the way for a while, and for a scrub that does not take long.
func (s *scrubs) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs error
	if took := time.Since(s.since); !s.since.IsZero() && took > longScrub {
		errs = fmt.Errorf("the file of the ledger of tenant %q has been written anew for %s, so that nothing is left of what was erased: "+
			"what comes of that tenant waits", s.now, took.Round(time.Second))
	}
	for _, tenant := range slices.Sorted(maps.Keys(s.tenants)) {
		if err := s.tenants[tenant].err; err != nil && !errors.Is(err, writer.ErrScrubLater) {
			errs = errors.Join(errs, fmt.Errorf("what was erased still lies in files: %w", err))
		}
	}
	return errs
}

// findUnclean notes the ledgers that were left unclean when the auditor ended.
func (p *projected) findUnclean() error {
	tenants, err := p.opts.tenants()
	for _, tenant := range tenants {
		unclean, failed := writer.Unclean(LedgerDir(p.opts.DataDir), tenant)
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
			if err := p.comeBackNow(ctx); err != nil && ctx.Err() == nil {
				p.opts.Logger.WarnContext(ctx, "a ledger did not take what waits for it", "error", err)
			}
			p.scrubAll(ctx)
		}
	}
}

// scrubAll scrubs what there is to scrub now. What fails is noted, and tried again.
func (p *projected) scrubAll(ctx context.Context) {
	for _, tenant := range p.scrubs.due() {
		err := p.scrub(ctx, tenant)
		switch {
		case err == nil:
			p.opts.Logger.InfoContext(ctx, "nothing is left of what was erased", "tenant", tenant)
		case ctx.Err() != nil:
			return
		default:
			p.opts.Logger.DebugContext(ctx, "a ledger was not scrubbed", "tenant", tenant, "error", err)
		}
	}
}

// lastScrubs scrubs before a drain ends: that takes as long as it takes, and then
// readers that stand in the way are waited for. What is left the next start finds.
func (p *projected) lastScrubs(ctx context.Context) {
	p.scrubAll(ctx)
	limit, tick := time.NewTimer(lastScrub), time.NewTicker(scrubEvery/10)
	defer limit.Stop()
	defer tick.Stop()
	for ; len(p.scrubs.list()) > 0; p.scrubAll(ctx) {
		select {
		case <-ctx.Done():
		case <-limit.C:
		case <-tick.C:
			continue
		}
		p.opts.Logger.WarnContext(ctx, "what was erased still lies in files: the next start takes it out",
			"tenants", p.scrubs.list(), "error", p.scrubs.failure())
		return
	}
}

// scrub scrubs the ledger of a tenant, set aside meanwhile: batches of the others
// do not wait for it. Its own come to it at the end.
func (p *projected) scrub(ctx context.Context, tenant string) error {
	a, err := p.setAside(ctx, tenant)
	if err != nil {
		p.scrubs.add(tenant, err)
	}
	if a == nil {
		return err
	}
	p.scrubs.began(tenant)
	scrubbed := a.ledger.Scrub(ctx)
	p.scrubs.ended()
	if ctx.Err() == nil { // to be told to stop is no failure
		a.err = scrubbed
	}
	// To the end, whatever stops: what has waited is in memory alone.
	caught := make(chan error, 1)
	p.writers.Go(func() { caught <- p.catchUp(p.beside, a) })
	select {
	case err = <-caught:
	case <-ctx.Done():
		return errors.Join(scrubbed, ctx.Err())
	}
	if err != nil {
		return errors.Join(scrubbed, err)
	}
	return errors.Join(scrubbed, p.comeBackNow(context.WithoutCancel(ctx)))
}

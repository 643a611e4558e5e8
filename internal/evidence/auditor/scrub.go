package auditor

import (
	"context"
	"errors"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger/writer"
)

const lastScrub = 10 * time.Second

type scrubber struct {
	opts    Options
	ledgers *ledgers
	queue   *scrubQueue
}

func (s *scrubber) findUnclean() error {
	tenants, err := s.opts.tenants()
	for _, tenant := range tenants {
		unclean, failed := writer.Unclean(LedgerDir(s.opts.DataDir), tenant)
		if err = errors.Join(err, failed); unclean {
			s.queue.add(tenant, nil)
		}
	}
	return err
}

func (s *scrubber) run(ctx context.Context) {
	tick := time.NewTicker(scrubEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := s.ledgers.attach(ctx); err != nil && ctx.Err() == nil {
				s.opts.Logger.WarnContext(ctx, "backlog of a ledger not written", "error", err)
			}
			s.all(ctx)
		}
	}
}

func (s *scrubber) all(ctx context.Context) {
	for _, tenant := range s.queue.due() {
		err := s.scrub(ctx, tenant)
		switch {
		case err == nil:
			s.opts.Logger.InfoContext(ctx, "erased payloads removed from the ledger's files", "tenant", tenant)
		case ctx.Err() != nil:
			return
		default:
			s.opts.Logger.DebugContext(ctx, "ledger not scrubbed", "tenant", tenant, "error", err)
		}
	}
}

func (s *scrubber) finish(ctx context.Context) {
	s.all(ctx)
	limit, tick := time.NewTimer(lastScrub), time.NewTicker(scrubEvery/10)
	defer limit.Stop()
	defer tick.Stop()
	for ; len(s.queue.list()) > 0; s.all(ctx) {
		select {
		case <-ctx.Done():
		case <-limit.C:
		case <-tick.C:
			continue
		}
		s.opts.Logger.WarnContext(ctx, "erased payloads are still in files, the next start removes them",
			"tenants", s.queue.list(), "error", s.queue.failure())
		return
	}
}

func (s *scrubber) scrub(ctx context.Context, tenant string) error {
	b, err := s.ledgers.detach(ctx, tenant)
	if err != nil {
		s.queue.add(tenant, err)
	}
	if b == nil {
		return err
	}
	s.queue.begin(tenant)
	scrubbed := b.ledger.Scrub(ctx)
	s.queue.end()
	if ctx.Err() == nil { // a stop is not a failure
		b.scrubErr = scrubbed
	}
	// The queued messages are only in memory, so write them even if ctx has ended.
	written := make(chan error, 1)
	s.ledgers.workers.Go(func() { written <- b.run(s.ledgers.workersCtx) })
	select {
	case err = <-written:
	case <-ctx.Done():
		return errors.Join(scrubbed, ctx.Err())
	}
	if err != nil {
		return errors.Join(scrubbed, err)
	}
	return errors.Join(scrubbed, s.ledgers.attach(context.WithoutCancel(ctx)))
}

package tracker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

const maxReadRetry = 5 * time.Second

func follow(ctx context.Context, opts Options, r *reader, outbox *publish.Publisher) error {
	s, db := r.settler, r.db
	var wg sync.WaitGroup
	defer wg.Wait()
	watching, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	reading, end := context.WithCancelCause(ctx)
	defer end(nil)
	e := &editor{opts, db, outbox}
	if opts.Drain {
		wg.Go(func() { s.endWhenStuck(watching, opts.SettleTimeout, end) })
		if err := e.drain(reading); err != nil {
			return stuckCause(reading, err)
		}
	} else {
		r.ticker = newTicker(db, outbox, opts.Logger, r.current)
		wg.Go(func() { r.ticker.run(reading) })
		wg.Go(func() { e.run(reading) })
	}
	if err := readStream(reading, opts, r); err != nil {
		return stuckCause(reading, err)
	}
	if opts.Drain {
		if err := releaseHeld(reading, opts, r, outbox); err != nil {
			return stuckCause(reading, err)
		}
	}
	return settleRest(reading, opts, s)
}

func releaseHeld(ctx context.Context, opts Options, r *reader, outbox *publish.Publisher) error {
	t := newTicker(r.db, outbox, opts.Logger, nil)
	n, err := t.releaseHeld(ctx)
	if err != nil || n == 0 {
		return err
	}
	if err := outbox.Flush(ctx); err != nil {
		return fmt.Errorf("publish clock ticks: %w", err)
	}
	return readStream(ctx, opts, r)
}

func readStream(ctx context.Context, opts Options, r *reader) error {
	settling, stop := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() { r.settler.run(settling) })
	defer wg.Wait()
	defer stop()
	return consume.Run(ctx, opts.Broker.JetStream(), consume.Options{
		Durable: Name, Space: opts.Broker.Space(), Tenant: opts.Tenant, Drain: opts.Drain, Logger: opts.Logger,
		RetryMax: maxReadRetry, Progress: r.progress, OnGap: opts.onHole,
		OnStreamChanged: func(reason string) error {
			opts.Logger.WarnContext(ctx, "tracking continued in another stream", "reason", reason)
			return nil
		},
	}, r)
}

func settleRest(ctx context.Context, opts Options, s *settler) error {
	if opts.Drain && ctx.Err() == nil {
		return stuckCause(ctx, s.finish(ctx, true))
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	err := s.finish(limited, opts.Drain)
	if err != nil && !opts.Drain {
		opts.Logger.WarnContext(ctx, "issues left unsettled", "error", err)
		return nil
	}
	return err
}

func stuckCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, errStuck) {
		return cause
	}
	return err
}

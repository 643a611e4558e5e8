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

// readRetryMost is short: what it waits for is mostly the backend, and
// to ask for that costs nothing.
const readRetryMost = 5 * time.Second

// follow reads the stream with all that runs beside that, and settles the rest
// when the reading has ended.
func follow(ctx context.Context, opts Options, r *reader, outbox *publish.Publisher) error {
	s, db := r.settler, r.db
	var wg sync.WaitGroup
	defer wg.Wait()
	beside, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	reading, end := context.WithCancelCause(ctx)
	defer end(nil)
	e := newEditor(opts, db, s, outbox)
	if opts.Drain {
		wg.Go(func() { s.watch(beside, opts.SettleTimeout, end) })
		if err := e.drain(reading); err != nil {
			return because(reading, err)
		}
	} else {
		r.ticker = newTicker(db, outbox, opts.Logger, r.current)
		wg.Go(func() { r.ticker.run(reading) })
		wg.Go(func() { e.run(reading) })
	}
	if err := readStream(reading, opts, r); err != nil {
		return because(reading, err)
	}
	if opts.Drain {
		if err := endHolds(reading, opts, r, outbox); err != nil {
			return because(reading, err)
		}
	}
	return settleRest(reading, opts, s)
}

// endHolds has the stream say that holds have ended, and reads that, where they have
// by the clock of this machine: who drains does not wait for an event that would say
// so. Nothing else that time does is hurried.
func endHolds(ctx context.Context, opts Options, r *reader, outbox *publish.Publisher) error {
	t := newTicker(r.db, outbox, opts.Logger, nil)
	n, err := t.endHolds(ctx)
	if err != nil || n == 0 {
		return err
	}
	if err := outbox.Flush(ctx); err != nil {
		return fmt.Errorf("publish that holds have ended: %w", err)
	}
	return readStream(ctx, opts, r)
}

// readStream reads the stream beside the settler.
func readStream(ctx context.Context, opts Options, r *reader) error {
	settling, stop := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() { r.settler.run(settling) })
	defer wg.Wait()
	defer stop()
	return consume.Run(ctx, opts.Broker.JetStream(), consume.Options{
		Durable: Name, Space: opts.Broker.Space(), Tenant: opts.Tenant, Drain: opts.Drain, Logger: opts.Logger,
		RetryMax: readRetryMost, Progress: r.progress, OnHole: opts.onHole,
		// What the old stream had is decided, and no event is decided on twice.
		OnStreamChanged: func(reason string) error {
			opts.Logger.WarnContext(ctx, "tracking went on in another stream", "reason", reason)
			return nil
		},
	}, r)
}

// settleRest settles what was decided. A drain ends when that is done or the
// backend takes nothing; after a stop there is a deadline.
func settleRest(ctx context.Context, opts Options, s *settler) error {
	if opts.Drain && ctx.Err() == nil {
		return because(ctx, s.finish(ctx, true))
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	err := s.finish(limited, opts.Drain)
	if err != nil && !opts.Drain {
		opts.Logger.WarnContext(ctx, "issues wait to be settled", "error", err)
		return nil
	}
	return err
}

// because returns why the drain was ended, if the backend is why.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && errors.Is(cause, errStuck) {
		return cause
	}
	return err
}

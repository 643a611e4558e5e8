package publisher

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/hookclient"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// RunShared forwards the events of DataDir/outbox/shared until ctx ends. If another
// process forwards them, it waits for that process to end. It calls running once it
// forwards. After ctx has ended it sends the rest until the time that deadline
// returns. Events that remain are sent by the next run.
func RunShared(ctx context.Context, opts Options, running func(), deadline func() time.Time) error {
	opts = opts.withDefaults()
	dir := hookclient.SharedOutbox(opts.DataDir)
	p, err := publish.OpenShared(ctx, opts.Broker.Conn(), publish.Options{
		Dir: dir, Redactor: publish.NoRedaction, // the events are redacted
		Durability: opts.Durability, Quota: opts.Quota, Logger: opts.Logger,
		SubjectPrefix: opts.Broker.Space().Prefix, StreamPrefix: opts.Broker.Space().StreamPrefix,
	})
	switch {
	case err != nil && ctx.Err() != nil:
		return nil // another process forwards
	case err != nil:
		return fmt.Errorf("forward hook events: %w", err)
	}
	running()
	<-ctx.Done()
	closing, cancel := context.WithDeadline(context.WithoutCancel(ctx), deadline())
	defer cancel()
	err = p.Close(closing)
	if waiting := p.Stats().Pending; waiting > 0 && errors.Is(err, context.DeadlineExceeded) {
		opts.Logger.WarnContext(ctx, "events stay in the outbox", "outbox", dir, "events", waiting)
		return nil
	}
	return err
}

// Delays between attempts of startShared. The delay doubles each time.
const (
	firstRetry = time.Second
	maxRetry   = time.Minute
)

// startShared runs [RunShared] until stop is called. stop waits for its end. A failure
// is logged and retried. It does not affect the server.
func startShared(ctx context.Context, opts Options) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		for pause := firstRetry; ; pause = min(2*pause, maxRetry) {
			err := RunShared(ctx, opts, func() {}, func() time.Time { return time.Now().Add(drainOutbox) })
			if err == nil {
				return
			}
			opts.Logger.ErrorContext(ctx, "hook events not forwarded", "error", err)
			select {
			case <-ctx.Done():
				return
			case <-time.After(pause):
			}
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}

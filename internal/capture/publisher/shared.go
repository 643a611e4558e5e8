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

// RunShared forwards what processes append to DataDir/outbox/shared, until ctx
// ends. It waits for another process that does; running is called once it does
// so itself. It then sends what is there until the time that deadline returns;
// what is left goes out when it runs again.
func RunShared(ctx context.Context, opts Options, running func(), deadline func() time.Time) error {
	opts = opts.withDefaults()
	dir := hookclient.SharedOutbox(opts.DataDir)
	p, err := publish.OpenShared(ctx, opts.Broker.Conn(), publish.Options{
		Dir: dir, Redactor: publish.NoRedaction, // what is there is redacted
		Durability: opts.Durability, Quota: opts.Quota, Logger: opts.Logger,
		SubjectPrefix: opts.Broker.Space().Prefix, StreamPrefix: opts.Broker.Space().StreamPrefix,
	})
	switch {
	case err != nil && ctx.Err() != nil:
		return nil // told to stop while another process forwards
	case err != nil:
		return fmt.Errorf("forward for hooks: %w", err)
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

// How long shareBeside waits before it tries again: twice as long each time.
const (
	firstShareAgain = time.Second
	maxShareAgain   = time.Minute
)

// shareBeside runs [RunShared] beside the server until end is called, which
// waits for it. That it fails keeps nobody else from their work: it is logged,
// and tried again.
func shareBeside(ctx context.Context, opts Options) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var wg sync.WaitGroup
	wg.Go(func() {
		for pause := firstShareAgain; ; pause = min(2*pause, maxShareAgain) {
			err := RunShared(ctx, opts, func() {}, func() time.Time { return time.Now().Add(drainOutbox) })
			if err == nil {
				return
			}
			opts.Logger.ErrorContext(ctx, "events of hooks are not forwarded", "error", err)
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

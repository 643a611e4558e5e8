package publisher

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hooktrail/hooktrail/internal/capture/hookclient"
	"github.com/hooktrail/hooktrail/internal/platform/hookid"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/pkg/publish"
)

// RunShared sends the events that hook commands have stored. After ctx ends, it continues until the
// time that deadline returns.
//
// Only one process can send these events at a time. RunShared calls running when this process
// begins to send.
func RunShared(ctx context.Context, opts Options, running func(), deadline func() time.Time) error {
	opts = opts.withDefaults()
	dir := hookclient.SharedOutbox(opts.DataDir)
	if _, err := hookid.Key(opts.DataDir); err != nil { // Key must run before the outbox exists
		return fmt.Errorf("forward hook events: %w", err)
	}
	recordLost(ctx, opts, dir)
	p, err := publish.OpenShared(ctx, opts.Broker.Conn(), publish.Options{
		Dir: dir, Journal: publish.JournalDir(opts.DataDir), Redactor: publish.NoRedaction,
		Durability: opts.Durability, Quota: opts.Quota, Heartbeat: opts.Heartbeat, Logger: opts.Logger,
		SubjectPrefix: opts.Broker.Space().Prefix, StreamPrefix: opts.Broker.Space().StreamPrefix,
		Issuer: broker.Issuer(opts.DataDir, opts.Logger),
	})
	switch {
	case err != nil && ctx.Err() != nil:
		return nil //nolint:nilerr // another process forwards
	case err != nil:
		return fmt.Errorf("forward hook events: %w", err)
	}
	running()
	<-ctx.Done()
	return Close(ctx, p, deadline(), opts.Logger.With("outbox", dir))
}

func recordLost(ctx context.Context, opts Options, dir string) {
	lost, err := publish.RecordLost(ctx, opts.DataDir, dir, publish.SharedOptions{
		Redactor: publish.NoRedaction, Journal: publish.JournalDir(opts.DataDir),
	})
	for _, m := range lost {
		opts.Logger.ErrorContext(ctx, "outbox is missing, its waiting events are lost", "outbox", m.Outbox, "producer", m.Producer)
	}
	if err != nil && ctx.Err() == nil {
		opts.Logger.ErrorContext(ctx, "missing outboxes not recorded", "error", err)
	}
}

const (
	firstRetry = time.Second
	maxRetry   = time.Minute
)

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

package broker

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/hooktrail/hooktrail/internal/platform/filelock"
)

// succeedEvery is how often a process without a connection looks whether the one
// that ran the server is gone.
const succeedEvery = 100 * time.Millisecond

// succeed runs the server of dir in this process once the process that ran it
// has ended: those that had joined it are not left waiting. One of them does; the
// others find it by its address. It returns when this one does, or when ctx ends.
func (b *Broker) succeed(ctx context.Context, dir string) {
	for failures, wait := 0, succeedEvery; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		wait = succeedEvery
		if b.nc.IsConnected() {
			continue
		}
		taken, err := b.takeOver(ctx, dir)
		if taken {
			b.opts.Logger.InfoContext(ctx, "broker is run by this process now: the one that ran it has ended", "url", b.URL())
			return
		}
		if err == nil {
			continue
		}
		if failures++; failures == 1 {
			b.opts.Logger.WarnContext(ctx, "broker could not be taken over", "error", err)
		}
		wait = reconnectDelay(failures)
	}
}

// takeOver runs the server if nobody does.
func (b *Broker) takeOver(ctx context.Context, dir string) (bool, error) {
	lock, err := filelock.Try(filepath.Join(dir, "lock"))
	if errors.Is(err, filelock.ErrHeld) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	e, secret, err := b.host(ctx, dir, lock)
	if err != nil {
		return false, err
	}
	if err := b.prepare(ctx, e, secret); err != nil {
		return false, errors.Join(err, e.stop())
	}
	b.embedded.Store(e)
	return true, nil
}

// prepare makes the streams that are missing and writes the address, by which
// the connections of this process too find the server.
func (b *Broker) prepare(ctx context.Context, e *embedded, secret string) error {
	ctx, cancel := context.WithTimeout(ctx, ensureTimeout)
	defer cancel()
	js, err := b.own(e, secret)
	if err != nil {
		return err
	}
	if err := b.ensureStreamsOf(ctx, js, e); err != nil {
		return err
	}
	return e.announce()
}

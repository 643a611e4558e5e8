package broker

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/hooktrail/hooktrail/internal/platform/filelock"
)

const standbyInterval = 100 * time.Millisecond

func (b *Broker) standBy(ctx context.Context, dir string) {
	for failures, wait := 0, standbyInterval; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		wait = standbyInterval
		if b.conn.nc.IsConnected() {
			continue
		}
		taken, err := b.takeOver(ctx, dir)
		if taken {
			b.opts.Logger.InfoContext(ctx, "embedded broker taken over", "url", b.URL())
			return
		}
		if err == nil {
			continue
		}
		if failures++; failures == 1 {
			b.opts.Logger.WarnContext(ctx, "embedded broker not taken over", "error", err)
		}
		wait = reconnectDelay(failures)
	}
}

func (b *Broker) takeOver(ctx context.Context, dir string) (bool, error) {
	lock, err := filelock.Try(filepath.Join(dir, "lock"))
	if errors.Is(err, filelock.ErrHeld) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	e, err := startLocked(ctx, dir, lock, b.opts)
	if err != nil {
		return false, err
	}
	if err := b.publishServer(ctx, e); err != nil {
		return false, errors.Join(err, e.stop())
	}
	b.embedded.Store(e)
	return true, nil
}

func (b *Broker) publishServer(ctx context.Context, e *embedded) error {
	ctx, cancel := context.WithTimeout(ctx, ensureTimeout)
	defer cancel()
	js, err := e.connectOwner(b.opts.Name)
	if err != nil {
		return err
	}
	if err := b.ensureStreamsOf(ctx, js, e); err != nil {
		return err
	}
	return e.announce()
}

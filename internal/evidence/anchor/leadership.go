package anchor

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/hooktrail/hooktrail/internal/evidence/anchor/bucket"
)

const reportAfter = 3

type leadership struct {
	lease   *bucket.Lease
	name    string // of the bucket
	standby bool
	logger  *slog.Logger

	mu       sync.Mutex // mu guards the fields below.
	leading  bool       // the log says that this auditor holds the lease
	yielded  bool       // the log already names the auditor that took the lease
	taken    int        // lease.Taken at the last change
	known    bool       // the lease was read at least once
	failures int        // failed refreshes in a row
	failed   error      // of the last refresh
}

// allowsUploads reports whether this auditor may upload checkpoints. If there is no bucket, there
// is no lease either, and every auditor except a standby may upload.
func (l *leadership) allowsUploads() bool {
	if l.lease.Held() {
		return true
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	gone := errors.Is(l.failed, jetstream.ErrStreamNotFound)
	return (!l.known || gone) && l.failures > 0 && !l.standby
}

func (l *leadership) standsBy() bool {
	if l.lease.Held() {
		return false
	}
	_, other := l.lease.Holder()
	return other || l.standby
}

func (l *leadership) refresh(ctx context.Context) (changed, taken bool) {
	err := l.lease.Refresh(ctx)
	if err != nil && ctx.Err() != nil {
		return false, false
	}
	if l.record(ctx, err); err != nil {
		return false, false
	}
	return l.observe(ctx)
}

func (l *leadership) observe(ctx context.Context) (changed, taken bool) {
	held, n := l.lease.Held(), l.lease.Taken()
	l.mu.Lock()
	changed = l.leading != held || l.taken != n
	l.leading, l.taken = held, n
	l.yielded = l.yielded && !held
	l.mu.Unlock()
	if !changed {
		if l.lease.Answered() {
			l.logStandby(ctx)
		}
		return false, false
	}
	if held {
		l.logger.InfoContext(ctx, "this auditor uploads checkpoints now", "bucket", l.name)
		return true, true
	}
	if _, other := l.lease.Holder(); other { // unknown if the broker did not answer
		l.logStandby(ctx)
	}
	return true, false
}

func (l *leadership) record(ctx context.Context, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.failed = fmt.Errorf("the holder of the checkpoint lease is unknown: %w", err)
		if l.failures++; l.failures == reportAfter {
			l.logger.ErrorContext(ctx, "checkpoint bucket cannot be used", "error", err)
		}
		return
	}
	if l.failures >= reportAfter {
		l.logger.InfoContext(ctx, "checkpoint bucket can be used again")
	}
	l.failures, l.failed, l.known = 0, nil, true
}

func (l *leadership) logStandby(ctx context.Context) {
	l.mu.Lock()
	logged := l.yielded
	l.yielded = true
	l.mu.Unlock()
	if logged {
		return
	}
	holder, _ := l.lease.Holder()
	level := slog.LevelWarn
	if l.standby {
		level = slog.LevelInfo
	}
	l.logger.Log(ctx, level, "another auditor uploads checkpoints now: this one stands by", "bucket", l.name, "holder", holder)
}

func (l *leadership) failure() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.failures < reportAfter {
		return nil
	}
	return l.failed
}

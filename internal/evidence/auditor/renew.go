package auditor

import (
	"context"
	"errors"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
)

const (
	renewEvery = time.Minute
	// renewMargin allows for clocks that differ a little.
	renewMargin = time.Minute
)

// renewIdle signs one more checkpoint in each ledger whose runs have become silent,
// because its time decides which runs are silent.
func (l *ledgers) renewIdle(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.opts.Now()
	tenants, err := l.state.idle(ctx, now.Add(-l.opts.Silence-renewMargin))
	for _, tenant := range tenants {
		if ctx.Err() != nil {
			return
		}
		if l.suspended[tenant] != nil || l.backlogs[tenant] != nil {
			continue
		}
		// If the renewal was signed but not stored, it would be repeated.
		failed := l.renew(context.WithoutCancel(ctx), tenant, now)
		if errors.Is(failed, ledger.ErrDamaged) {
			l.suspend(ctx, tenant, failed)
			continue
		}
		err = errors.Join(err, failed)
	}
	if err != nil && ctx.Err() == nil {
		l.opts.Logger.WarnContext(ctx, "checkpoint not renewed", "error", err)
	}
}

func (l *ledgers) renew(ctx context.Context, tenant string, now time.Time) error {
	one, err := l.set.Ledger(ctx, tenant)
	if err != nil {
		return err
	}
	if err := one.Renew(ctx); err != nil {
		return err
	}
	l.appended(tenant)
	return l.state.setRenewed(ctx, tenant, now)
}

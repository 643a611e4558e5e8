package auditor

import (
	"context"
	"errors"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
)

const (
	renewEvery  = time.Minute
	renewMargin = time.Minute // allows for clocks that differ
)

// renewIdle signs checkpoints without new events, because only a later checkpoint proves that a run
// or producer went silent.
func (l *ledgers) renewIdle(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.opts.Now()
	tenants, err := l.state.idle(ctx, now.Add(-l.opts.Silence-renewMargin))
	for _, tenant := range tenants {
		if ctx.Err() != nil {
			return
		}
		if l.suspended[tenant] != nil || l.backlogs[tenant] != nil || now.Before(l.awaited[tenant]) {
			continue
		}
		// Finish the renewal even if ctx ends, because an interrupted renewal must be repeated.
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
	until, err := l.awaitedUntil(ctx, tenant)
	if err != nil || until.After(now) {
		l.awaited[tenant] = until
		return err
	}
	delete(l.awaited, tenant)
	return l.state.setRenewed(ctx, tenant, now)
}

func (l *ledgers) awaitedUntil(ctx context.Context, tenant string) (until time.Time, err error) {
	r, err := ledger.OpenTenant(LedgerDir(l.opts.DataDir), tenant)
	if err != nil {
		return until, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	until, err = r.Activity().AwaitedUntil(ctx)
	return until.Add(renewMargin), err
}

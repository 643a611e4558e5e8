package auditor

import (
	"context"
	"errors"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
)

const (
	renewEvery = time.Minute
	// renewMargin allows for small differences between the clocks of machines.
	renewMargin = time.Minute
)

// renewIdle signs a new checkpoint in each ledger that has received nothing for so long that its
// open runs count as ended. Which runs count as ended depends on the time of the newest checkpoint,
// so one more checkpoint is needed after the last event. If the open producers of the ledger count
// as silent only later, renewIdle signs another checkpoint at that time.
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
		// The renewal must not be interrupted between signing and storing, because it would then be
		// repeated.
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

// awaitedUntil returns the time at which all open producers of a tenant count as silent, if no
// event of them arrives before that time.
func (l *ledgers) awaitedUntil(ctx context.Context, tenant string) (until time.Time, err error) {
	r, err := ledger.OpenTenant(LedgerDir(l.opts.DataDir), tenant)
	if err != nil {
		return until, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	until, err = r.Activity().AwaitedUntil(ctx)
	return until.Add(renewMargin), err
}

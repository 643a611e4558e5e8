package auditor

import (
	"context"
	"errors"
	"time"

	"zombiezen.com/go/sqlite"
	"zombiezen.com/go/sqlite/sqlitex"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
)

const (
	renewEvery = time.Minute
	// renewMargin is how long after the end of the silence a checkpoint is
	// renewed, so that clocks may differ a little.
	renewMargin = time.Minute
)

// renewSilent signs one more checkpoint in ledgers that nothing came to for so
// long that their runs count as silent. Silence is measured against the newest
// checkpoint, and would never be noticed where nothing happens any more.
func (p *projected) renewSilent(ctx context.Context) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.opts.Now()
	tenants, err := p.silent(ctx, now.Add(-p.opts.Silence-renewMargin))
	for _, tenant := range tenants {
		if ctx.Err() != nil {
			return
		}
		if p.held[tenant] != nil || p.asides[tenant] != nil {
			continue
		}
		// To the end: signed and not noted, it would be signed again.
		failed := p.renew(context.WithoutCancel(ctx), tenant, now)
		if errors.Is(failed, ledger.ErrDamaged) {
			p.hold(ctx, tenant, failed)
			continue
		}
		err = errors.Join(err, failed)
	}
	if err != nil && ctx.Err() == nil {
		p.opts.Logger.WarnContext(ctx, "a checkpoint was not renewed", "error", err)
	}
}

// silent returns the tenants whose ledgers were last appended to before then,
// and have not been renewed since.
func (p *projected) silent(ctx context.Context, then time.Time) (tenants []string, err error) {
	err = p.db.Tx(ctx, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(conn, "SELECT tenant FROM ledger WHERE appended < ? AND renewed < appended",
			&sqlitex.ExecOptions{
				Args: []any{then.UnixNano()},
				ResultFunc: func(stmt *sqlite.Stmt) error {
					tenants = append(tenants, stmt.ColumnText(0))
					return nil
				},
			})
	})
	return tenants, err
}

func (p *projected) renew(ctx context.Context, tenant string, now time.Time) error {
	l, err := p.set.Ledger(ctx, tenant)
	if err != nil {
		return err
	}
	if err := l.Renew(ctx); err != nil {
		return err
	}
	p.appended(tenant)
	return p.db.Tx(ctx, func(conn *sqlite.Conn) error {
		return sqlitex.Execute(conn, "UPDATE ledger SET renewed = ? WHERE tenant = ?",
			&sqlitex.ExecOptions{Args: []any{now.UnixNano(), tenant}})
	})
}

package auditor

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const pruneEach = time.Hour

type pruner struct {
	opts     Options
	standsBy func() bool
	waiting  map[string]string // last order that the ledger lacked, by tenant
}

func (r *pruner) run(ctx context.Context) {
	if !r.hasWork() {
		return
	}
	tick := time.NewTicker(pruneEach)
	defer tick.Stop()
	for {
		if err := r.all(ctx); err != nil && ctx.Err() == nil {
			r.opts.Logger.WarnContext(ctx, "records past their retention not pruned", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (r *pruner) all(ctx context.Context) error {
	if !r.hasWork() || r.standsBy() {
		return nil
	}
	tenants, err := r.opts.tenants()
	for _, tenant := range tenants {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		err = errors.Join(err, r.tenant(ctx, tenant))
	}
	return err
}

func (r *pruner) tenant(ctx context.Context, tenant string) (err error) {
	reader, err := ledger.OpenTenant(LedgerDir(r.opts.DataDir), tenant)
	if errors.Is(err, ledger.ErrDamaged) {
		return nil // readiness reports the suspended ledger
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	if id := r.waiting[tenant]; id != "" {
		if _, came, err := reader.Orders().Outcome(ctx, id); err != nil || !came {
			return err
		}
		delete(r.waiting, tenant)
	}
	orders, err := r.orders(ctx, reader)
	if err != nil || len(orders) == 0 {
		return err
	}
	ids, err := GiveOrders(ctx, r.opts.DataDir, orders)
	if len(ids) > 0 {
		r.waiting[tenant] = ids[len(ids)-1]
	}
	return err
}

func (r *pruner) hasWork() bool { return len(r.opts.Retention) > 0 || r.opts.Floor > 0 }

func (r *pruner) orders(ctx context.Context, reader *ledger.Reader) ([]ledger.Order, error) {
	in, err := reader.Orders().Rules(ctx)
	if err != nil {
		return nil, err
	}
	if in.Floor < r.opts.Floor {
		o := ledger.Order{
			Action: events.AuditFloor, ID: events.NewID(), Time: r.opts.Now().UTC(), By: retentionName,
			Reason: "retention floor of the auditor", Floor: r.opts.Floor,
		}
		o, err := reader.Orders().Resolve(ctx, o)
		return []ledger.Order{o}, err
	}
	waiting, err := reader.Orders().Proposals(ctx)
	if err != nil || slices.ContainsFunc(waiting, func(p ledger.Proposal) bool {
		return p.Order.Action == events.AuditPrune && p.Order.By == retentionName && r.opts.Now().Before(p.Expires)
	}) {
		return nil, err
	}
	return Expired(ctx, reader, r.opts.Retention, r.opts.Now())
}

const retentionName = "retention"

// Expired returns orders for [GiveOrders] that prune records after their retention.
func Expired(ctx context.Context, r *ledger.Reader, rules []ledger.RetentionRule, now time.Time) (orders []ledger.Order, err error) {
	found, err := r.Orders().Expired(ctx, rules, now)
	for _, o := range found {
		o.ID, o.By = events.NewID(), retentionName
		orders = append(orders, o)
	}
	return orders, err
}

package auditor

import (
	"context"
	"errors"
	"time"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/pkg/events"
)

// pruneEach is how often is looked for what is past its retention.
const pruneEach = time.Hour

// pruner orders what is past its retention to be pruned.
type pruner struct {
	p       *projected
	waiting map[string]string // by tenant, the last order that has not come yet
}

func newPruner(p *projected) *pruner {
	return &pruner{p: p, waiting: make(map[string]string)}
}

// run looks for what is past its retention until ctx ends.
func (r *pruner) run(ctx context.Context) {
	if len(r.p.opts.Keep) == 0 {
		return
	}
	tick := time.NewTicker(pruneEach)
	defer tick.Stop()
	for {
		if err := r.all(ctx); err != nil && ctx.Err() == nil {
			r.p.opts.Logger.WarnContext(ctx, "what is past its retention was not pruned", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// all orders what is past its retention now, in all ledgers.
func (r *pruner) all(ctx context.Context) error {
	if len(r.p.opts.Keep) == 0 || r.p.keepers.StandsBy() {
		return nil
	}
	tenants, err := r.p.opts.tenants()
	for _, tenant := range tenants {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		err = errors.Join(err, r.tenant(ctx, tenant))
	}
	return err
}

func (r *pruner) tenant(ctx context.Context, tenant string) (err error) {
	reader, err := ledger.OpenTenant(LedgerDir(r.p.opts.DataDir), tenant)
	if errors.Is(err, ledger.ErrDamaged) {
		return nil // it is held back, and that is said elsewhere
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
	orders, err := Expired(ctx, reader, r.p.opts.Keep, r.p.opts.Now())
	if err != nil || len(orders) == 0 {
		return err
	}
	ids, err := GiveOrders(ctx, r.p.opts.DataDir, orders)
	if len(ids) > 0 {
		r.waiting[tenant] = ids[len(ids)-1]
	}
	return err
}

// expired returns what is past its retention, as orders that can be given.
func Expired(ctx context.Context, r *ledger.Reader, rules []ledger.RetentionRule, now time.Time) (orders []ledger.Order, err error) {
	found, err := r.Orders().Expired(ctx, rules, now)
	for _, o := range found {
		o.ID, o.By = events.NewID(), "retention"
		orders = append(orders, o)
	}
	return orders, err
}

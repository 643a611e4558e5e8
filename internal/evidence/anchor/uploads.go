package anchor

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
)

const (
	// keepEvery is how often a place gets the newest checkpoints.
	keepEvery = time.Second
	// Where many ledgers grow at once a round takes its time, and the next one begins
	// the later: the ledgers shall have most of the machine. This is the latest.
	keepLatest = 5 * time.Second
)

// rounds bring the newest checkpoints of the ledgers somewhere, behind the ledgers'
// back: they never wait for it. What fails is tried again with the next round.
type rounds struct {
	ledgerDir string
	tenant    string // of all; empty: every one
	where     string // checkpoints are kept: "in FILE"
	logger    *slog.Logger
	limit     time.Duration // of one round; 0: bring has limits of its own
	abreast   int           // tenants at a time

	// bring brings the newest checkpoint of one ledger.
	bring   func(ctx context.Context, tenant string) error
	release func() // what bring has open, at the end

	// together, where it is set, brings those of a round instead of bring.
	together func(ctx context.Context, tenants []string)
	leads    func() bool // whether it is this auditor's turn: else nothing is brought

	mu      sync.Mutex // guards what follows
	pending map[string]bool
	failed  map[string]error // by tenant: why its checkpoint is not there
	late    string           // the first tenant that the last round had no time for; empty: it had for all
}

func newRounds(o Options, where string, bring func(context.Context, string) error) *rounds {
	return &rounds{
		ledgerDir: o.LedgerDir, tenant: o.Tenant, where: where, logger: o.Logger,
		abreast: 1, bring: bring, release: func() {}, leads: func() bool { return true },
		pending: make(map[string]bool), failed: make(map[string]error),
	}
}

// changed notes that the ledger of tenant has a newer checkpoint.
func (r *rounds) changed(tenant string) {
	if r.tenant != "" && r.tenant != tenant {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.pending[tenant] = true
}

// run keeps checkpoints until ctx ends.
func (r *rounds) run(ctx context.Context) {
	r.all(ctx) // some may have grown since the last stop
	clock := time.NewTimer(0)
	defer clock.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-clock.C:
		}
		began := time.Now()
		r.round(ctx)
		clock.Reset(min(max(keepEvery, 4*time.Since(began)), keepLatest))
	}
}

// all has every ledger looked at.
func (r *rounds) all(ctx context.Context) {
	tenants, err := ledger.Tenants(r.ledgerDir)
	if err != nil {
		r.logger.WarnContext(ctx, "ledgers were not listed", "error", err)
	}
	r.again(tenants)
}

// again has the ledgers of tenants looked at in the next round.
func (r *rounds) again(tenants []string) {
	for _, tenant := range tenants {
		r.changed(tenant)
	}
}

// round brings every checkpoint that is newer. What fails is tried again.
func (r *rounds) round(ctx context.Context) {
	if !r.leads() {
		return
	}
	tenants := r.take()
	if r.limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, r.limit)
		defer cancel()
	}
	if r.together != nil {
		r.together(ctx, tenants)
		return
	}
	var group errgroup.Group
	group.SetLimit(r.abreast)
	for _, tenant := range tenants {
		group.Go(func() error {
			if r.over(ctx, tenant) {
				return nil
			}
			r.done(ctx, tenant, r.bring(ctx, tenant))
			return nil
		})
	}
	_ = group.Wait() // done has noted what failed
}

// last goes round until there was time for all, as long as nothing fails. What is left
// when ctx ends the next start brings.
func (r *rounds) last(ctx context.Context) {
	r.round(ctx)
	for r.behind() && r.failure() == nil && r.leads() {
		if ctx.Err() != nil {
			r.logger.WarnContext(ctx, "there was no time to bring all checkpoints: the next start does", "where", r.where)
			return
		}
		r.round(ctx)
	}
}

// behind reports whether the last round had no time for all.
func (r *rounds) behind() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.late != ""
}

// take returns the tenants whose checkpoints are to be brought, those first that the
// round before had no time for.
func (r *rounds) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	tenants := slices.Sorted(maps.Keys(r.pending))
	clear(r.pending)
	first, _ := slices.BinarySearch(tenants, r.late)
	r.late = ""
	return slices.Concat(tenants[first:], tenants[:first])
}

// over reports whether the time of a round is over, before that of tenants was
// brought: no failure of the place, they have the next round.
func (r *rounds) over(ctx context.Context, tenants ...string) bool {
	if ctx.Err() == nil || len(tenants) == 0 {
		return false
	}
	r.again(tenants)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.late == "" {
		r.late = tenants[0]
	}
	return true
}

// done notes what came of a tenant's checkpoint, and logs it when that changed.
func (r *rounds) done(ctx context.Context, tenant string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	before := r.failed[tenant]
	if err == nil {
		if delete(r.failed, tenant); before != nil {
			r.logger.InfoContext(ctx, "checkpoints are kept outside the ledger again", "where", r.where, "tenant", tenant)
		}
		return
	}
	r.failed[tenant] = fmt.Errorf("checkpoint of tenant %q is not kept %s: %w", tenant, r.where, err)
	r.pending[tenant] = true
	if before == nil {
		r.logger.ErrorContext(ctx, "a checkpoint is not kept outside the ledger",
			"where", r.where, "tenant", tenant, "error", err)
	}
}

// failure returns why checkpoints are not on the shelf, nil when all are.
func (r *rounds) failure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.failed) == 0 {
		return nil
	}
	first := r.failed[slices.Min(slices.Collect(maps.Keys(r.failed)))]
	if n := len(r.failed) - 1; n > 0 {
		return fmt.Errorf("%w (and those of %d more)", first, n)
	}
	return first
}

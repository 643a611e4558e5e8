package anchor

import (
	"context"
	"errors"
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
	uploadInterval    = time.Second
	maxUploadInterval = 5 * time.Second
)

type uploads struct {
	ledgerDir string
	tenant    string // empty means all
	where     string // for messages, such as "in FILE"
	logger    *slog.Logger
	timeout   time.Duration // of a round; 0 if upload sets a limit
	workers   int           // concurrent uploads

	upload  func(ctx context.Context, tenant string) error
	release func()

	// uploadAll replaces upload if it is set. It receives all tenants of a round.
	uploadAll func(ctx context.Context, tenants []string)
	mayUpload func() bool // false while another auditor uploads

	mu      sync.Mutex // guards pending, failed and late
	pending map[string]bool
	failed  map[string]error // by tenant
	late    string           // first tenant without an upload in the last round
}

func newUploads(o Options, where string, upload func(context.Context, string) error) *uploads {
	return &uploads{
		ledgerDir: o.LedgerDir, tenant: o.Tenant, where: where, logger: o.Logger,
		workers: 1, upload: upload, release: func() {}, mayUpload: func() bool { return true },
		pending: make(map[string]bool), failed: make(map[string]error),
	}
}

func (u *uploads) changed(tenant string) {
	if u.tenant != "" && u.tenant != tenant {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.pending[tenant] = true
}

func (u *uploads) run(ctx context.Context) {
	u.queueAll(ctx) // ledgers may have grown while the process was stopped
	clock := time.NewTimer(0)
	defer clock.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-clock.C:
		}
		began := time.Now()
		u.round(ctx)
		clock.Reset(min(max(uploadInterval, 4*time.Since(began)), maxUploadInterval))
	}
}

func (u *uploads) queueAll(ctx context.Context) {
	tenants, err := ledger.Tenants(u.ledgerDir)
	if err != nil {
		u.logger.WarnContext(ctx, "ledgers were not listed", "error", err)
	}
	u.queue(tenants)
}

func (u *uploads) queue(tenants []string) {
	for _, tenant := range tenants {
		u.changed(tenant)
	}
}

func (u *uploads) round(ctx context.Context) {
	if !u.mayUpload() {
		return
	}
	tenants := u.take()
	if u.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, u.timeout)
		defer cancel()
	}
	if u.uploadAll != nil {
		u.uploadAll(ctx, tenants)
		return
	}
	var group errgroup.Group
	group.SetLimit(u.workers)
	for _, tenant := range tenants {
		group.Go(func() error {
			if u.isLate(ctx, tenant) {
				return nil
			}
			u.record(ctx, tenant, u.upload(ctx, tenant))
			return nil
		})
	}
	_ = group.Wait() // record has stored the errors
}

func (u *uploads) finish(ctx context.Context) {
	u.round(ctx)
	for u.isBehind() && u.failure() == nil && u.mayUpload() {
		if ctx.Err() != nil {
			u.logger.WarnContext(ctx, "no time to upload all checkpoints: the next start uploads them", "where", u.where)
			return
		}
		u.round(ctx)
	}
}

func (u *uploads) isBehind() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.late != ""
}

func (u *uploads) take() []string {
	u.mu.Lock()
	defer u.mu.Unlock()
	tenants := slices.Sorted(maps.Keys(u.pending))
	clear(u.pending)
	first, _ := slices.BinarySearch(tenants, u.late)
	u.late = ""
	return slices.Concat(tenants[first:], tenants[:first])
}

func (u *uploads) isLate(ctx context.Context, tenants ...string) bool {
	if ctx.Err() == nil || len(tenants) == 0 {
		return false
	}
	u.queue(tenants)
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.late == "" {
		u.late = tenants[0]
	}
	return true
}

func (u *uploads) record(ctx context.Context, tenant string, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	before := u.failed[tenant]
	if err == nil {
		if delete(u.failed, tenant); before != nil {
			u.logger.InfoContext(ctx, "checkpoint upload works again", "where", u.where, "tenant", tenant)
		}
		return
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		u.pending[tenant] = true // the process stops, and finish uploads it
		return
	}
	u.failed[tenant] = fmt.Errorf("checkpoint of tenant %q is not kept %s: %w", tenant, u.where, err)
	u.pending[tenant] = true
	if before == nil {
		u.logger.ErrorContext(ctx, "checkpoint upload failed",
			"where", u.where, "tenant", tenant, "error", err)
	}
}

func (u *uploads) failure() error {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(u.failed) == 0 {
		return nil
	}
	first := u.failed[slices.Min(slices.Collect(maps.Keys(u.failed)))]
	if n := len(u.failed) - 1; n > 0 {
		return fmt.Errorf("%w (and %d more tenants)", first, n)
	}
	return first
}

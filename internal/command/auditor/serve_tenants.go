package auditor

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/command/service"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

const cacheBytes = 64 << 20

func serveTenants(cmd *cobra.Command, shared *cli.Shared, opts auditor.Options) error {
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	bar := cli.NewProgress(cmd.ErrOrStderr(), "audit")
	all := totalProgress{of: make(map[string]consume.Progress)}
	ended := make([]error, len(shared.Tenants))
	var wg sync.WaitGroup
	for i, tenant := range shared.Tenants {
		o := opts
		o.Tenant, o.CacheBytes = tenant, cacheBytes/int64(len(shared.Tenants))
		o.Logger = opts.Logger.With("tenant", tenant)
		if i > 0 { // the first auditor serves the ledgers of all tenants
			o.TilesListen = ""
		}
		o.TilesTenants = shared.Tenants
		if o.Drain {
			o.Progress = func(p consume.Progress) { bar.Set(all.add(tenant, p)) }
		}
		wg.Go(func() {
			b := service.Broker(cmd, shared, subjects.AuditorRole)
			b.Tenant, b.Logger, b.Later = tenant, o.Logger, !o.Drain
			err := broker.Use(ctx, b, func(b *broker.Broker) error {
				o.Broker = b
				return auditor.Run(ctx, o)
			})
			if !o.Drain {
				err = service.Stopped(ctx, err)
			}
			if err != nil {
				ended[i] = fmt.Errorf("tenant %q: %w", tenant, err)
			}
			if err != nil && !o.Drain {
				cancel()
			}
		})
	}
	wg.Wait()
	bar.Finish()
	if err := errors.Join(ended...); err != nil || !opts.Drain {
		return err
	}
	return printLedgers(cmd, shared)
}

type totalProgress struct {
	mu sync.Mutex // guards the map of
	of map[string]consume.Progress
}

func (t *totalProgress) add(tenant string, p consume.Progress) (done, total uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of[tenant] = p
	for _, one := range t.of {
		done, total = done+one.Position.Sequence, total+one.Target
	}
	return done, total
}

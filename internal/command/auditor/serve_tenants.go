package auditor

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

// cacheBytes is what the ledgers of a process have for their caches.
const cacheBytes = 64 << 20

// serveTenants is the auditor of several tenants, of each as a process of its own
// would be: with its own connection and rights, durable, position and lock. So
// tenants can move from one process to another, and no two have one of them. What
// ends the auditor of one ends all; a drain goes on with the others.
func serveTenants(cmd *cobra.Command, shared *cli.Shared, opts auditor.Options) error {
	ctx, cancel := context.WithCancel(cmd.Context())
	defer cancel()
	bar := cli.NewProgress(cmd.ErrOrStderr(), "audit")
	all := together{of: make(map[string]consume.Progress)}
	ended := make([]error, len(shared.Tenants))
	var wg sync.WaitGroup
	for i, tenant := range shared.Tenants {
		o := opts
		o.Tenant, o.CacheBytes = tenant, cacheBytes/int64(len(shared.Tenants))
		o.Logger = opts.Logger.With("tenant", tenant)
		if i > 0 { // one is enough: it shows the ledgers of all
			o.TilesListen = ""
		}
		o.TilesTenants = shared.Tenants
		if o.Drain {
			o.Progress = func(p consume.Progress) { bar.Set(all.add(tenant, p)) }
		}
		wg.Go(func() {
			err := broker.Use(ctx, broker.Options{
				DataDir: shared.DataDir, URL: shared.NATSURL, Name: commandName, Logger: o.Logger, Role: subjects.AuditorRole, Tenant: tenant,
				Login: broker.Login(shared.Login), Auth: broker.AuthMode(shared.Auth),
			}, func(b *broker.Broker) error {
				o.Broker = b
				return auditor.Run(ctx, o)
			})
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

// together adds up how far several are.
type together struct {
	mu sync.Mutex // guards of
	of map[string]consume.Progress
}

// add notes how far one is, and returns how far all are, of how much.
func (t *together) add(tenant string, p consume.Progress) (done, total uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.of[tenant] = p
	for _, one := range t.of {
		done, total = done+one.Position.Sequence, total+one.Target
	}
	return done, total
}

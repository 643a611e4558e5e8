package auditor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/filelock"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

// drainUnserved does the auditor's work for a tenant once, unless an auditor runs
// and does it.
func drainUnserved(cmd *cobra.Command, shared *cli.Shared, tenant string) error {
	served, err := isServed(cmd.Context(), shared.DataDir, tenant)
	if err != nil || served {
		return err
	}
	who, err := whoServes(shared.DataDir, tenant)
	if err != nil {
		return err
	}
	o := auditorBroker(cmd, shared)
	o.Tenant = who
	return broker.Use(cmd.Context(), o, func(b *broker.Broker) error {
		return Run(cmd.Context(), Options{
			Broker: b, DataDir: shared.DataDir, Tenant: who, Drain: true, Logger: shared.Logger(cmd),
		})
	})
}

// auditorBroker returns how the auditor comes to its broker.
func auditorBroker(cmd *cobra.Command, shared *cli.Shared) broker.Options {
	return broker.Options{
		DataDir: shared.DataDir, URL: shared.NATSURL, Name: durable, Logger: shared.Logger(cmd), Login: broker.Login(shared.Login),
		Auth: broker.AuthMode(shared.Auth), Role: subjects.AuditorRole, Tenant: shared.Tenant,
	}
}

// isServed reports whether a process is the auditor of a tenant: that of all
// tenants, which has the whole lock, or that of this one.
func isServed(ctx context.Context, dataDir, tenant string) (served bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Millisecond) // it is tried once
	defer cancel()
	share, err := filelock.Share(ctx, filepath.Join(LedgerDir(dataDir), lockName), func() {})
	if errors.Is(err, filelock.ErrHeld) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, share.Unlock()) }()
	path, err := tenantLock(dataDir, tenant)
	if err != nil {
		return false, err
	}
	own, err := filelock.Try(path)
	if errors.Is(err, filelock.ErrHeld) {
		return true, nil
	}
	if err != nil {
		return false, err
	}
	return false, own.Unlock()
}

// whoServes returns whose auditor keeps the ledger of a tenant when one runs: empty
// for that of all tenants. Its state tells; another one would read the stream from
// its beginning.
func whoServes(dataDir, tenant string) (string, error) {
	for _, who := range []string{"", tenant} {
		path, err := statePath(dataDir, who)
		if err != nil {
			return "", err
		}
		if _, err := os.Stat(path); err == nil {
			return who, nil
		}
	}
	return "", nil
}

// statePath returns the file of the state of the auditor of a tenant, or of all.
func statePath(dataDir, tenant string) (string, error) {
	name, err := subjects.Space{}.Durable(durable, tenant)
	if err != nil {
		return "", err
	}
	return filepath.Join(LedgerDir(dataDir), name+".db"), nil
}

package auditor

import (
	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/command/service"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

// Call checkBroker before recording an order, because an order is final.
func checkBroker(cmd *cobra.Command, shared *cli.Shared, tenant string) error {
	o, served, err := unserved(cmd, shared, tenant)
	switch {
	case err != nil || served:
		return err
	case o.URL == "":
		return o.CheckHome()
	}
	return broker.Use(cmd.Context(), o, func(*broker.Broker) error { return nil })
}

func drainUnserved(cmd *cobra.Command, shared *cli.Shared, tenant string) error {
	o, served, err := unserved(cmd, shared, tenant)
	if err != nil || served {
		return err
	}
	return broker.Use(cmd.Context(), o, func(b *broker.Broker) error {
		return auditor.Run(cmd.Context(), auditor.Options{
			Broker: b, DataDir: shared.DataDir, Tenant: o.Tenant, Drain: true, Logger: shared.Logger(cmd),
		})
	})
}

func unserved(cmd *cobra.Command, shared *cli.Shared, tenant string) (o broker.Options, served bool, err error) {
	if served, err = auditor.IsServed(cmd.Context(), shared.DataDir, tenant); err != nil || served {
		return o, served, err
	}
	o = service.Broker(cmd, shared, subjects.AuditorRole)
	o.Tenant, err = auditor.StateOwner(shared.DataDir, tenant)
	return o, false, err
}

package auditor

import (
	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/command/service"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

// If no auditor serves the tenant, checkBroker checks that the broker's URL is known. Call it
// before recording an order.
func checkBroker(cmd *cobra.Command, shared *cli.Shared, tenant string) error {
	served, err := auditor.IsServed(cmd.Context(), shared.DataDir, tenant)
	if err != nil || served {
		return err
	}
	return service.Broker(cmd, shared, subjects.AuditorRole).CheckHome()
}

// drainUnserved reads the stream of a tenant to its end unless an auditor serves the tenant.
func drainUnserved(cmd *cobra.Command, shared *cli.Shared, tenant string) error {
	served, err := auditor.IsServed(cmd.Context(), shared.DataDir, tenant)
	if err != nil || served {
		return err
	}
	who, err := auditor.StateOwner(shared.DataDir, tenant)
	if err != nil {
		return err
	}
	o := service.Broker(cmd, shared, subjects.AuditorRole)
	o.Tenant = who
	return broker.Use(cmd.Context(), o, func(b *broker.Broker) error {
		return auditor.Run(cmd.Context(), auditor.Options{
			Broker: b, DataDir: shared.DataDir, Tenant: who, Drain: true, Logger: shared.Logger(cmd),
		})
	})
}

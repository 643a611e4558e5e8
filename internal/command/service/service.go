// Package service provides code for the commands of all services.
package service

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

// Broker returns the options of a connection for a role, from the shared flags.
func Broker(cmd *cobra.Command, shared *cli.Shared, role subjects.Role) broker.Options {
	return broker.Options{
		DataDir: shared.DataDir, URL: shared.NATSURL, Login: broker.Login(shared.Login), Auth: broker.AuthMode(shared.Auth),
		ConnectTimeout: shared.NATSTimeout,
		Name:           string(role), Role: role, Tenant: shared.Tenant, Logger: shared.Logger(cmd),
	}
}

// Stopped returns nil if a signal cancelled ctx and err is the resulting cancellation error. For
// any other error, Stopped returns err.
func Stopped(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

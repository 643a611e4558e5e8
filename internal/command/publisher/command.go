package publisher

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

// Command returns the publisher command.
func Command() *cobra.Command {
	shared := &cli.Shared{}
	cmd := cli.Group("publisher", "Take events in and send them to the stream",
		hookCommand(shared), importCommand(shared), installCommand(shared), pipeCommand(shared), serveCommand(shared), tokenCommand(shared), outboxCommand(shared))
	cmd.Long = "publisher takes events in and sends them to the stream, once and in order. It stores them in\n" +
		"an outbox until the broker has them, so they survive a broker that is away for a while."
	shared.Register(cmd)
	return cmd
}

// withBroker runs work with a connection to the broker that the shared flags name.
func withBroker(cmd *cobra.Command, shared *cli.Shared, opts broker.Options, work func(context.Context, *broker.Broker) error) error {
	ctx := cmd.Context()
	opts.DataDir, opts.URL, opts.Name, opts.Logger = shared.DataDir, shared.NATSURL, "publisher", shared.Logger(cmd)
	opts.Login, opts.Auth, opts.Role = broker.Login(shared.Login), broker.AuthMode(shared.Auth), subjects.PublisherRole
	return broker.Use(ctx, opts, func(b *broker.Broker) error { return work(ctx, b) })
}

// count returns "1 file" or "3 files".
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// list returns s, or an empty list for nil, which is [] in JSON.
func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

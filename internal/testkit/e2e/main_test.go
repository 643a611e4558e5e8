// Package e2e runs whole pipelines: the commands as processes of their own,
// against a server of its own, killed, starved and started again.
package e2e

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/command/auditor"
	"github.com/hooktrail/hooktrail/internal/command/hooktrail"
	"github.com/hooktrail/hooktrail/internal/command/metrics"
	"github.com/hooktrail/hooktrail/internal/command/publisher"
	"github.com/hooktrail/hooktrail/internal/command/tracker"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
)

// commandEnv makes this test binary be one of the commands: the processes that
// the tests kill run the code under test, race detector included.
const commandEnv = "HOOKTRAIL_E2E_COMMAND"

func TestMain(m *testing.M) {
	commands := map[string]func() *cobra.Command{
		"publisher": publisher.Command,
		"auditor":   auditor.Command,
		"tracker":   tracker.Command,
		"metrics":   metrics.Command,
		"hooktrail": hooktrail.Command,
		"server":    serverCommand,
	}
	name := os.Getenv(commandEnv)
	if name == "" {
		os.Exit(m.Run())
	}
	command, ok := commands[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "%s: no command %q\n", commandEnv, name)
		os.Exit(cli.ExitUsage)
	}
	cli.Main(command())
}

// serverCommand holds the embedded server of a data directory and nothing else.
func serverCommand() *cobra.Command {
	var shared cli.Shared
	cmd := &cobra.Command{
		Use: "server",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM)
			defer stop()
			b, err := broker.Open(ctx, broker.Options{DataDir: shared.DataDir, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				return err
			}
			fmt.Fprintln(cmd.OutOrStdout(), "ready")
			<-ctx.Done()
			return b.Close(context.WithoutCancel(ctx))
		},
	}
	shared.Register(cmd)
	return cmd
}

// Package e2e tests whole pipelines. It runs the commands and a server as processes, kills and
// restarts them, and exhausts their resources.
package e2e

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
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

// commandEnv makes this test binary run a command, so that the processes run the code under test
// with the race detector.
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
		os.Exit(runTests(m))
	}
	command, ok := commands[name]
	if !ok {
		fmt.Fprintf(os.Stderr, "%s: no command %q\n", commandEnv, name)
		os.Exit(cli.ExitUsage)
	}
	cli.Main(command())
}

// scratch is a folder for all tests of this process.
var scratch string

// runTests keeps the pins of the commands out of the user's configuration folder.
func runTests(m *testing.M) int {
	var err error
	if scratch, err = os.MkdirTemp("", "known-ledgers-"); err == nil {
		err = os.Setenv(cli.EnvName("known-ledgers"), filepath.Join(scratch, "known_ledgers"))
	}
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	return m.Run()
}

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

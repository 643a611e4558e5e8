// Package cli provides flags, environment variables, logs, signals and exit statuses for all
// commands.
//
// Flags override environment variables, and both override defaults. Results go to stdout, and all
// other output goes to stderr. Only [Main] prints errors and exits.
package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/platform/termtext"
)

// Exit statuses of all commands.
const (
	ExitOK    = 0
	ExitError = 1
	ExitUsage = 2
)

// StatusError makes the command exit with Status. [Main] prints Err unless it is nil.
type StatusError struct {
	Status int
	Err    error
}

// Error implements error.
func (e *StatusError) Error() string {
	if e.Err == nil {
		return fmt.Sprintf("exit status %d", e.Status)
	}
	return e.Err.Error()
}

// Unwrap returns Err.
func (e *StatusError) Unwrap() error { return e.Err }

// Coded is an error with an exit status for the command. Other packages implement it.
type Coded interface {
	error
	ExitStatus() int
}

// Exit returns an error that makes the command exit with status and print nothing.
func Exit(status int) error { return &StatusError{Status: status} }

// Usage returns an error about an invalid command line. Its exit status is [ExitUsage].
func Usage(format string, args ...any) error {
	return &StatusError{Status: ExitUsage, Err: fmt.Errorf(format, args...)}
}

// Main runs cmd and exits. The first SIGINT or SIGTERM cancels the context, and the second kills
// the process.
func Main(cmd *cobra.Command) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ctx.Done()
		stop()
	}()
	os.Exit(Execute(ctx, cmd, os.Args[1:]))
}

// Execute runs cmd and returns the exit status. Failed writes to stdout are an error.
func Execute(ctx context.Context, cmd *cobra.Command, args []string) int {
	prepare(cmd)
	out := &result{w: cmd.OutOrStdout()}
	cmd.SetOut(out)
	cmd.SetArgs(args)
	failed, err := cmd.ExecuteContextC(ctx)
	if err == nil {
		err = out.lost()
	}
	if err == nil {
		return ExitOK
	}
	status := ExitError
	if coded, ok := errors.AsType[*StatusError](err); ok {
		status = coded.Status
		if coded.Err == nil {
			return status
		}
	} else if coded, ok := errors.AsType[Coded](err); ok {
		status = coded.ExitStatus()
	}
	stderr := cmd.ErrOrStderr()
	fmt.Fprintf(stderr, "%s: %s\n", failed.CommandPath(), termtext.Printable(err.Error()))
	if status == ExitUsage {
		fmt.Fprintf(stderr, "See '%s --help'.\n", failed.CommandPath())
	}
	return status
}

// Group returns a command with subcommands. Without a subcommand, it prints its help.
func Group(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short}
	cmd.AddCommand(commands...)
	return cmd
}

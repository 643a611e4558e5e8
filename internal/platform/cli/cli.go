// Package cli is what all commands share: flags over environment over
// defaults, logs to stderr, signals, and the exit status.
//
// Results go to stdout, everything else to stderr. Only [Main] prints errors,
// and only Main exits.
package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// The exit status that all commands share.
const (
	ExitOK    = 0
	ExitError = 1
	ExitUsage = 2
)

// StatusError ends the command with a status of its own, such as the verdict of
// auditor verify. Main prints Err, if there is one.
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

// Unwrap returns what was wrong.
func (e *StatusError) Unwrap() error { return e.Err }

// Exit returns the error that ends the command with status and prints nothing.
func Exit(status int) error { return &StatusError{Status: status} }

// Usage returns the error for a command that was called wrongly.
func Usage(format string, args ...any) error {
	return &StatusError{Status: ExitUsage, Err: fmt.Errorf(format, args...)}
}

// Main runs cmd with the process's arguments until it ends or SIGINT or SIGTERM
// asks it to, and exits with its status. A second signal kills it at once.
func Main(cmd *cobra.Command) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ctx.Done()
		stop()
	}()
	os.Exit(Execute(ctx, cmd, os.Args[1:]))
}

// Execute runs cmd with args and returns its exit status. A result that could
// not be written is a failure.
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
	}
	stderr := cmd.ErrOrStderr()
	fmt.Fprintf(stderr, "%s: %s\n", failed.CommandPath(), Printable(err.Error()))
	if status == ExitUsage {
		fmt.Fprintf(stderr, "See '%s --help'.\n", failed.CommandPath())
	}
	return status
}

// Group returns a command that only holds others, and says so when it is called
// without one of them.
func Group(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short}
	cmd.AddCommand(commands...)
	return cmd
}

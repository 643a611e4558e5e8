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

// Execute runs cmd with args and returns its exit status.
func Execute(ctx context.Context, cmd *cobra.Command, args []string) int {
	prepare(cmd)
	cmd.SetArgs(args)
	failed, err := cmd.ExecuteContextC(ctx)
	if err == nil {
		return ExitOK
	}
	status := ExitError
	var coded *StatusError
	if errors.As(err, &coded) {
		status = coded.Status
		if coded.Err == nil {
			return status
		}
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s: %v\n", failed.CommandPath(), err)
	if status == ExitUsage {
		fmt.Fprintf(cmd.ErrOrStderr(), "See '%s --help'.\n", failed.CommandPath())
	}
	return status
}

// prepare makes cobra behave as the command contract says, for cmd and all
// commands below it.
func prepare(cmd *cobra.Command) {
	cmd.SilenceErrors = true
	cmd.SilenceUsage = true
	cmd.CompletionOptions.HiddenDefaultCmd = true
	cmd.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return Usage("%w", err) })
	for _, c := range append(cmd.Commands(), cmd) {
		if c != cmd {
			prepare(c)
		}
		if validate := c.Args; validate != nil {
			c.Args = func(c *cobra.Command, args []string) error {
				if err := validate(c, args); err != nil {
					return Usage("%w", err)
				}
				return nil
			}
		}
	}
}

// Group returns a command that only holds others, and says so when it is called
// without one of them.
func Group(use, short string, commands ...*cobra.Command) *cobra.Command {
	cmd := &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return Usage("unknown command %q", args[0])
		},
	}
	cmd.AddCommand(commands...)
	return cmd
}

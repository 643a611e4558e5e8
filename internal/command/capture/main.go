package capture

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/pflag"

	"github.com/hooktrail/hooktrail/internal/platform/buildinfo"
	"github.com/hooktrail/hooktrail/internal/platform/flagenv"
)

// Agents run HookProgram for each hook. HookProgram starts Program if no publisher answers.
const (
	HookProgram = "hooktrail-hook"
	Program     = "hooktrail-capture"
)

// Main runs the program with the arguments of the process and exits.
func Main() { os.Exit(Run(os.Args[1:])) } //nolint:forbidigo // package cli is too large for this program

// Run runs the program and returns its exit status.
func Run(args []string) int {
	c := Command{Path: Program, Args: args, In: os.Stdin, Out: os.Stdout, Err: os.Stderr}
	flags := pflag.NewFlagSet(Program, pflag.ContinueOnError)
	flags.StringVar(&c.DataDir, "data-dir", flagenv.DefaultDataDir(), "`folder` that holds everything")
	flags.StringVar(&c.Tenant, "tenant", "", "`tenant`; \"default\" if empty")
	c.Flags.Register(flags)
	version := flags.Bool("version", false, "print the version")
	flags.Usage = func() {}
	c.Invalid = flags.Parse(args)
	switch {
	case errors.Is(c.Invalid, pflag.ErrHelp):
		printHelp(c.Out, flags)
		return 0
	case *version:
		fmt.Fprintln(c.Out, Program, buildinfo.Version())
		return 0
	case c.Invalid == nil:
		c.Invalid = flagenv.Set(flags, func(string) {})
	}
	c.Flags.FromEnvironment(flags)
	c.Names = flags.Args()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return c.Run(ctx)
}

func printHelp(out io.Writer, flags *pflag.FlagSet) {
	fmt.Fprintf(out, "%s\n\nThis program does the same as publisher hook without --hooks and without http publishers.\n"+
		"%s runs it if no publisher answers.\n\nUsage:\n  %s TOOL [EVENT] [flags]\n\nExamples:\n  %s claude-code < payload.json\n\nFlags:\n%s",
		Long, HookProgram, Program, Program, flags.FlagUsages())
}

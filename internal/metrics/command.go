package metrics

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

// Command returns the metrics command.
func Command() *cobra.Command {
	shared := new(cli.Shared)
	cmd := cli.Group("metrics", "Count runs, steps, tool calls, tokens and failures for Prometheus", serveCommand(shared))
	shared.Register(cmd)
	return cmd
}

func serveCommand(shared *cli.Shared) *cobra.Command {
	var opts Options
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Count the stream and serve the numbers",
		Long: `Count the stream and serve the numbers on /metrics, until a signal ends it.
/livez says that the process lives, /readyz that the stream is being read.
With --drain count everything that is in the stream now, print what was counted
and end.`,
		Example: `  metrics serve --listen 127.0.0.1:9464
  metrics serve --drain --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.DataDir, opts.Tenant, opts.Logger = shared.DataDir, shared.Tenant, shared.Logger(cmd)
			if opts.Drain {
				opts.Listen = ""
			}
			return broker.Use(cmd.Context(), broker.Options{
				DataDir: shared.DataDir, URL: shared.NATSURL, Name: Consumer, Logger: opts.Logger,
				Login: broker.Login(shared.Login), Auth: broker.AuthMode(shared.Auth), Role: subjects.MetricsRole, Tenant: shared.Tenant,
			}, func(b *broker.Broker) error {
				opts.Broker = b
				return runServe(cmd, shared, opts)
			})
		},
	}
	cmd.Flags().BoolVar(&opts.Drain, "drain", false, "count what is in the stream now, then end")
	cmd.Flags().StringVar(&opts.Listen, "listen", DefaultListen, "`address` of /metrics, /livez and /readyz")
	return cmd
}

func runServe(cmd *cobra.Command, shared *cli.Shared, opts Options) error {
	ctx := cmd.Context()
	if !opts.Drain {
		return Run(ctx, opts)
	}
	bar := cli.NewProgress(cmd.ErrOrStderr(), "count")
	opts.Progress = func(p consume.Progress) { bar.Set(p.Position.Sequence, p.Target) }
	err := Run(ctx, opts)
	bar.Finish()
	if err != nil {
		return err
	}
	summary, err := Snapshot(ctx, opts.DataDir)
	if err != nil {
		return err
	}
	if shared.JSON {
		return cli.PrintJSON(cmd, summary)
	}
	printSummary(cmd.OutOrStdout(), summary)
	return nil
}

func printSummary(out io.Writer, s Summary) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "runs\t%d\t%d failed, %d active\n", s.Runs, s.RunsFailed, s.RunsActive)
	fmt.Fprintf(w, "steps\t%d\t%d failed\n", s.Steps, s.StepsFailed)
	fmt.Fprintf(w, "tool calls\t%d\t%d failed, %d denied, %d without a result\n", s.ToolCalls, s.ToolErrors, s.ToolsDenied, s.ToolsWaiting)
	for _, t := range s.Tools {
		fmt.Fprintf(w, "  %s\t%d\t%d failed\n", strings.Map(oneLine, cli.Printable(t.Tool)), t.Calls, t.Errors)
	}
	u := s.TokensUsed
	fmt.Fprintf(w, "tokens\t%d\t%d input, %d output, %d cache read, %d cache written\n",
		u.Input+u.Output+u.CacheRead+u.CacheCreation, u.Input, u.Output, u.CacheRead, u.CacheCreation)
	w.Flush()
}

// oneLine keeps a name within its cell of the table.
func oneLine(r rune) rune {
	if r == '\n' || r == '\t' {
		return ' '
	}
	return r
}

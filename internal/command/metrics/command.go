// Package metrics implements the command line of the metrics service.
package metrics

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/command/consumer"
	"github.com/hooktrail/hooktrail/internal/command/service"
	"github.com/hooktrail/hooktrail/internal/metrics"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

// Command returns the metrics command.
func Command() *cobra.Command {
	shared := new(cli.Shared)
	cmd := cli.Group("metrics", "Count runs, steps, tool calls, tokens and failures for Prometheus", serveCommand(shared))
	cmd.Example = "  metrics serve --listen 127.0.0.1:9464"
	shared.Register(cmd)
	return cmd
}

func serveCommand(shared *cli.Shared) *cobra.Command {
	var opts metrics.Options
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Count events and serve metrics",
		Long: `Count the events of the stream and serve metrics on /metrics, until a signal ends the
process. With --metrics-token, only the reader with that bearer token sees the series of
tenants, and others see the state of the service. /livez answers while the process runs, and /readyz while it reads the stream.
With --drain, count the events that are in the stream now, print the counts and exit.`,
		Example: `  metrics serve --listen 127.0.0.1:9464
  metrics serve --drain --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			opts.DataDir, opts.Tenant, opts.Logger = shared.DataDir, shared.Tenant, shared.Logger(cmd)
			if opts.Drain {
				opts.Listen = ""
			}
			if err := opts.Access.Validate(); err != nil {
				return cli.Usage("%w", err)
			}
			connection := service.Broker(cmd, shared, subjects.MetricsRole)
			connection.Later = !opts.Drain
			err := broker.Use(cmd.Context(), connection, func(b *broker.Broker) error {
				opts.Broker = b
				return runServe(cmd, shared, opts)
			})
			if opts.Drain {
				return err
			}
			return service.Stopped(cmd.Context(), err)
		},
	}
	cmd.Flags().BoolVar(&opts.Drain, "drain", false, "count the events that are in the stream now, then exit")
	cmd.Flags().StringVar(&opts.Listen, "listen", metrics.DefaultListen, "`address` of /metrics, /livez and /readyz")
	cli.OwnVariable(cmd, "listen", "metrics-listen") // HOOKTRAIL_LISTEN is of publisher serve
	RegisterAccess(cmd, &opts.Access)
	return cmd
}

func runServe(cmd *cobra.Command, shared *cli.Shared, opts metrics.Options) error {
	ctx := cmd.Context()
	if !opts.Drain {
		return metrics.Run(ctx, opts)
	}
	if err := consumer.Drain(cmd, "count", &opts.Progress, func() error { return metrics.Run(ctx, opts) }); err != nil {
		return err
	}
	summary, err := metrics.Snapshot(ctx, opts.DataDir)
	if err != nil {
		return err
	}
	return cli.Print(cmd, shared, summary, func(out io.Writer) { printSummary(out, summary) })
}

func printSummary(out io.Writer, s metrics.Summary) {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "runs\t%d\t%d failed, %d active\n", s.Runs, s.RunsFailed, s.RunsActive)
	fmt.Fprintf(w, "steps\t%d\t%d failed\n", s.Steps, s.StepsFailed)
	stopped := ""
	if s.ToolsInterrupted > 0 {
		stopped = fmt.Sprintf("%d interrupted, ", s.ToolsInterrupted)
	}
	fmt.Fprintf(w, "tool calls\t%d\t%d failed, %d denied, %s%d without a result\n",
		s.ToolCalls, s.ToolErrors, s.ToolsDenied, stopped, s.ToolsWaiting)
	for _, t := range s.Tools {
		fmt.Fprintf(w, "  %s\t%d\t%d failed\n", strings.Map(oneLine, termtext.Printable(t.Tool)), t.Calls, t.Errors)
	}
	u := s.TokensUsed
	fmt.Fprintf(w, "tokens\t%d\t%d input, %d output, %d cache read, %d cache written\n",
		u.Input+u.Output+u.CacheRead+u.CacheCreation, u.Input, u.Output, u.CacheRead, u.CacheCreation)
	w.Flush()
}

func oneLine(r rune) rune {
	if r == '\n' || r == '\t' {
		return ' '
	}
	return r
}

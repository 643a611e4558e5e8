package tracker

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/command/consumer"
	"github.com/hooktrail/hooktrail/internal/command/service"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
	"github.com/hooktrail/hooktrail/internal/tracking/tracker"
)

// Command returns the tracker command.
func Command() *cobra.Command {
	shared := new(cli.Shared)
	cmd := cli.Group("tracker", "Keep issues for work that outlives a run, and explain them",
		serveCommand(shared), listCommand(shared), showCommand(shared), whyCommand(shared),
		whatifCommand(shared, dial(shared)), closeCommand(shared), rebuildCommand(shared))
	cmd.Example = "  tracker serve\n  tracker list --tenant acme"
	shared.Register(cmd)
	shared.CompleteFlags(cmd, map[string]cli.Values{
		"tenant": service.TenantValues(shared), "status": cli.Words(wordsOf(statuses)...), "kind": cli.Words(wordsOf(kinds)...),
	})
	cmd.PersistentPreRunE = checkTenant(shared, cmd.PersistentPreRunE)
	return cmd
}

// checkTenant also checks the tenant's name. Otherwise, a command with an invalid name would find
// no issues and report no error.
func checkTenant(shared *cli.Shared, prepare func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := prepare(cmd, args); err != nil {
			return err
		}
		if _, err := subjects.Token(shared.Tenant); err != nil {
			return cli.Usage("--tenant: %w", err)
		}
		return nil
	}
}

func serveCommand(shared *cli.Shared) *cobra.Command {
	var (
		opts  tracker.Options
		setup Setup
	)
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Read the stream and keep issues",
		Long: `Read the stream and keep issues until a signal ends the process. With --drain, handle
the events that are in the stream now, release the held failures whose time is over by
this machine's clock, print the number of issues and exit.

Issues are written to beads/TENANT/.beads/issues.jsonl in the data directory. The
command "bd import" reads this file.

Erasure orders signed by the auditor's key also remove the texts from issues, as soon
as the order arrives in the stream. The key is keys/ledger.pub in the data directory.
If the auditor uses another data directory, copy the file or name it with --order-key.
Without the key the texts stay, orders wait, and the log says so.

--config sets the limits of the heuristics. Use "tracker whatif" to try other limits.
New limits apply to new events only. Use "tracker rebuild" to apply them to the whole
history.

With --backend bd, the Beads CLI keeps the issues. While the backend is unavailable,
the tracker stops reading the stream and loses nothing. A drain waits for
--settle-timeout and then fails with the reason.`,
		Example: `  tracker serve
  tracker serve --drain --json
  tracker serve --config tracker.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			err := setup.connected(cmd, shared, &opts, !opts.Drain, func() error {
				if err := warnWithoutKey(cmd, opts); err != nil {
					return err
				}
				return serve(cmd, shared, opts)
			})
			if opts.Drain {
				return err
			}
			return service.Stopped(cmd.Context(), err)
		},
	}
	cmd.Flags().BoolVar(&opts.Drain, "drain", false, "handle the events that are in the stream now, then exit")
	setup.Register(cmd)
	return cmd
}

func warnWithoutKey(cmd *cobra.Command, o tracker.Options) error {
	has, err := o.HasOrderKey()
	if err == nil && !has {
		o.Logger.WarnContext(cmd.Context(), "no key of the ledgers: erasure orders wait and texts stay; name the auditor's ledger.pub with --order-key, "+
			"or copy it to keys/ledger.pub in the data directory")
	}
	return err
}

func serve(cmd *cobra.Command, shared *cli.Shared, opts tracker.Options) error {
	ctx := cmd.Context()
	if !opts.Drain {
		return tracker.Run(ctx, opts)
	}
	if err := consumer.Drain(cmd, "track", &opts.Progress, func() error { return tracker.Run(ctx, opts) }); err != nil {
		return err
	}
	list, err := tracker.List(ctx, shared.DataDir, shared.Tenant)
	if err != nil {
		return err
	}
	return printCounts(cmd, shared, list)
}

func printCounts(cmd *cobra.Command, shared *cli.Shared, list []tracker.Issue) error {
	counts := map[rules.Status]int{rules.Open: 0, rules.InProgress: 0, rules.Blocked: 0, rules.Flapping: 0, rules.Closed: 0}
	for _, i := range list {
		counts[i.Status]++
	}
	return cli.Print(cmd, shared, map[string]any{"issues": len(list), "by_status": counts}, func(out io.Writer) {
		flapping := ""
		if n := counts[rules.Flapping]; n > 0 {
			flapping = fmt.Sprintf("%d flapping, ", n)
		}
		fmt.Fprintf(out, "%d issues: %d open, %d in progress, %d blocked, %s%d closed\n", len(list),
			counts[rules.Open], counts[rules.InProgress], counts[rules.Blocked], flapping, counts[rules.Closed])
	})
}

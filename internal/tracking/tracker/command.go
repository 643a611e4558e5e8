package tracker

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/consume"
	"github.com/hooktrail/hooktrail/internal/subjects"
	"github.com/hooktrail/hooktrail/internal/tracking/replay"
	"github.com/hooktrail/hooktrail/internal/tracking/rules"
)

// Command returns the tracker command.
func Command() *cobra.Command {
	shared := new(cli.Shared)
	cmd := cli.Group("tracker", "Keep issues for the work that outlives a run, and say why",
		serveCommand(shared), listCommand(shared), showCommand(shared), whyCommand(shared),
		replay.Command(shared, dial(shared)), closeCommand(shared), rebuildCommand(shared))
	shared.Register(cmd)
	cmd.PersistentPreRunE = checkTenant(shared, cmd.PersistentPreRunE)
	return cmd
}

// checkTenant refuses, once prepare has read the flags, a name that no tenant can
// have: else it would be one that has no issues, as many have none.
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
		opts  Options
		setup Setup
	)
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Read the stream and keep the issues that follow from it",
		Long: `Read the stream and keep the issues that follow from it, until a signal ends it.
With --drain handle everything that is in the stream now, end the holds that are over
by this machine's clock, print how many issues there are and end.

Issues are written to beads/TENANT/.beads/issues.jsonl in the data directory,
where "bd import" reads them.

What the auditor's key orders to be erased loses its texts here too, when the order
comes by in the stream. The key is ledger.pub in the folder keys of the data
directory; where no auditor runs on it, --order-key names it.

The limits of the heuristics are those of --config; tracker whatif tries others.
What was decided before a change of them stays as it is, and new events are decided
under the new ones: tracker rebuild decides all of the history anew.

With --backend bd the issues are kept by the Beads CLI. A backend that takes nothing
is waited for: the reading of the stream pauses, and nothing is lost. A drain waits
for --settle-timeout, and then ends with the reason.`,
		Example: `  tracker serve
  tracker serve --drain --json
  tracker serve --config tracker.yaml`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return setup.connected(cmd, shared, &opts, func() error { return serve(cmd, shared, opts) })
		},
	}
	cmd.Flags().BoolVar(&opts.Drain, "drain", false, "handle what is in the stream now, then end")
	setup.Register(cmd)
	return cmd
}

// readKey reads a verifier key, or the file with one.
func readKey(value string) (string, error) {
	if value == "" {
		return "", nil
	}
	if data, err := os.ReadFile(value); err == nil {
		value = string(data)
	}
	_, text, err := ledger.ParseVerifier(value)
	if err != nil {
		return "", cli.Usage("--order-key is neither a verifier key nor a file with one: %w", err)
	}
	return text, nil
}

func serve(cmd *cobra.Command, shared *cli.Shared, opts Options) error {
	ctx := cmd.Context()
	if !opts.Drain {
		return Run(ctx, opts)
	}
	bar := cli.NewProgress(cmd.ErrOrStderr(), "track")
	opts.Progress = func(p consume.Progress) { bar.Set(p.Position.Sequence, p.Target) }
	err := Run(ctx, opts)
	bar.Finish()
	if err != nil {
		return err
	}
	list, err := List(ctx, shared.DataDir, shared.Tenant)
	if err != nil {
		return err
	}
	return printCounts(cmd, shared, list)
}

// printCounts prints how many issues have which status.
func printCounts(cmd *cobra.Command, shared *cli.Shared, list []Issue) error {
	counts := map[rules.Status]int{rules.Open: 0, rules.InProgress: 0, rules.Blocked: 0, rules.Flapping: 0, rules.Closed: 0}
	for _, i := range list {
		counts[i.Status]++
	}
	if shared.JSON {
		return cli.PrintJSON(cmd, map[string]any{"issues": len(list), "by_status": counts})
	}
	flapping := ""
	if n := counts[rules.Flapping]; n > 0 {
		flapping = fmt.Sprintf("%d flapping, ", n)
	}
	fmt.Fprintf(cmd.OutOrStdout(), "%d issues: %d open, %d in progress, %d blocked, %s%d closed\n", len(list),
		counts[rules.Open], counts[rules.InProgress], counts[rules.Blocked], flapping, counts[rules.Closed])
	return nil
}

package auditor

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

func rebuildCommand(shared *cli.Shared) *cobra.Command {
	var o auditor.RebuildOptions
	cmd := &cobra.Command{
		Use:   "rebuild",
		Short: "Make ledgers, checkpoints and AgentFS files anew, from the stream or from ledgers",
		Long: `Make the ledgers, with their indexes and checkpoints, and the AgentFS files anew
from the stream, beside the old ones, which stay in place until all is complete.
What an order erased further down the stream is in none of them. Rows that other
tools wrote into AgentFS files are kept. Stop the auditor first.

A rebuilt ledger must agree with the newest checkpoint of the one before it. Where
the stream does not go back far enough any more, begin with a ledger that does:
with --from a copy, or the very one in the data directory. It is checked first.

With --agentfs-only write the AgentFS files anew from the ledgers as they are; that
needs no broker.`,
		Example: `  auditor rebuild
  auditor rebuild --tenant acme --from /backup/acme/ledger.db
  auditor rebuild --agentfs-only --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.AgentFS && len(o.From) > 0 {
				return cli.Usage("--from: with --agentfs-only the ledgers in the data directory are read")
			}
			o.DataDir, o.Tenant, o.Logger = shared.DataDir, shared.Tenant, shared.Logger(cmd)
			if o.AgentFS {
				return runRebuild(cmd, shared, o)
			}
			return broker.Use(cmd.Context(), broker.Options{
				DataDir: shared.DataDir, URL: shared.NATSURL, Name: commandName, Logger: o.Logger,
				Login: broker.Login(shared.Login), Auth: broker.AuthMode(shared.Auth), Role: subjects.AuditorRole, Tenant: shared.Tenant,
			}, func(b *broker.Broker) error {
				o.Broker = b
				return runRebuild(cmd, shared, o)
			})
		},
	}
	cmd.Flags().StringArrayVar(&o.From, "from", nil, "`file` of a ledger to begin with; again for that of another tenant")
	cmd.Flags().BoolVar(&o.AgentFS, "agentfs-only", false, "only the AgentFS files, from the ledgers as they are")
	return cmd
}

func runRebuild(cmd *cobra.Command, shared *cli.Shared, o auditor.RebuildOptions) error {
	bar := cli.NewProgress(cmd.ErrOrStderr(), "rebuild")
	o.Progress = func(_ string, done, total uint64) { bar.Set(done, total) }
	done, err := auditor.Rebuild(cmd.Context(), o)
	bar.Finish()
	if err != nil {
		return err
	}
	if done == nil {
		done = []auditor.Rebuilt{}
	}
	return cli.Print(cmd, shared, done, func(out io.Writer) {
		w := table(out)
		for _, r := range done {
			agrees := "no old checkpoint to compare with"
			switch {
			case o.AgentFS:
				agrees = "unchanged"
			case r.Compared != "":
				agrees = "agrees with " + r.Compared
			}
			fmt.Fprintf(w, "%s\t%s\troot %s\tsigned %s\t%s\n",
				cli.Printable(r.Tenant), plural(r.Leaves, "leaf", "leaves"), r.Root, r.Checkpoint.Format(time.RFC3339), agrees)
		}
		w.Flush()
	})
}

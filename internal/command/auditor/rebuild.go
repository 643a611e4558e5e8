package auditor

import (
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/command/service"
	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/internal/platform/termtext"
	"github.com/hooktrail/hooktrail/internal/stream/broker"
	"github.com/hooktrail/hooktrail/internal/subjects"
)

func rebuildCommand(shared *cli.Shared) *cobra.Command {
	var o auditor.RebuildOptions
	var tenants service.Tenants
	cmd := &cobra.Command{
		Use:   "rebuild",
		Short: "Rebuild ledgers, checkpoints and AgentFS files from the stream or from ledgers",
		Long: `Rebuild the ledgers with their indexes and checkpoints, and the AgentFS files, from
the stream. The old files stay in place until all new files are complete. The new
files contain no payload that an order in the stream erases. Rows that other tools
wrote into AgentFS files are carried over. Stop the auditor first.

A rebuilt ledger must agree with the newest checkpoint of the old one. If the stream
no longer has all messages, start with a ledger that has them: use --from with a
copy, or with the ledger in the data directory. It is verified first.

With --agentfs-only, rebuild only the AgentFS files from the current ledgers. That
needs no broker.`,
		Example: `  auditor rebuild
  auditor rebuild --tenant acme --from /backup/acme/ledger.db
  auditor rebuild --agentfs-only --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if o.AgentFS && len(o.From) > 0 {
				return cli.Usage("--from: --agentfs-only reads the ledgers in the data directory")
			}
			o.DataDir, o.Tenant, o.Logger = shared.DataDir, shared.Tenant, shared.Logger(cmd)
			accepted, err := tenants.Policy(shared, "")
			if err != nil {
				return err
			}
			o.Admit = accepted.Admit
			if o.AgentFS {
				return runRebuild(cmd, shared, o)
			}
			return broker.Use(cmd.Context(), service.Broker(cmd, shared, subjects.AuditorRole), func(b *broker.Broker) error {
				o.Broker = b
				return runRebuild(cmd, shared, o)
			})
		},
	}
	tenants.Register(cmd)
	cmd.Flags().StringArrayVar(&o.From, "from", nil, "`file` of a ledger to start with; repeat for other tenants")
	cmd.Flags().BoolVar(&o.AgentFS, "agentfs-only", false, "rebuild only the AgentFS files, from the current ledgers")
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
				termtext.Printable(r.Tenant), plural(r.Leaves, "leaf", "leaves"), r.Root, r.Checkpoint.Format(time.RFC3339), agrees)
		}
		w.Flush()
	})
}

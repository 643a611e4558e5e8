package auditor

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const keepUsage = "how long payloads of a class are kept, as `KINDS=AGE`: tool.*=90d, issue.*=forever, *=7y; the first that fits counts"

func pruneCommand(shared *cli.Shared) *cobra.Command {
	var (
		f    ordering
		keep keepRules
	)
	cmd := &cobra.Command{
		Use:   "prune --keep KINDS=AGE",
		Short: "Destroy the payloads that are past their retention",
		Long: `Destroy the payloads of the records that the server stored longer ago than their
class is to be kept. A class is a pattern of kinds; the first rule that fits a
record counts, and what no rule fits is kept. An age is in hours (12h), days
(90d), weeks (26w) or years (7y) of 365 days, or forever.

What is pruned goes like what is erased: leaves and proofs stay, auditor verify
says that it was pruned, and what a hold covers stays until it is lifted. The
auditor does the same by itself, each hour, with auditor serve --keep.`,
		Example: `  auditor prune --keep 'issue.*=forever' --keep 'tool.*=90d' --keep '*=7y' --dry-run
  auditor serve --keep 'tool.*=90d' --keep '*=7y'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.prune(cmd, shared, keep) },
	}
	cmd.Flags().Var(&keep, "keep", keepUsage)
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "say what would be pruned, and prune nothing")
	if err := cmd.MarkFlagRequired("keep"); err != nil {
		cmd.RunE = func(*cobra.Command, []string) error { return err }
	}
	f.register(cmd)
	return cmd
}

func (f *ordering) prune(cmd *cobra.Command, shared *cli.Shared, keep keepRules) (err error) {
	if f.reason == "" {
		f.reason = "retention " + keep.String()
	}
	given, err := f.order(events.AuditPrune)
	if err != nil {
		return err
	}
	r, err := openLedger(shared.DataDir, shared.TenantOrDefault(), "")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	orders, err := auditor.Expired(cmd.Context(), r, keep, time.Now())
	if err != nil {
		return err
	}
	if len(orders) == 0 {
		none := Change{Tenant: r.Tenant(), Action: events.AuditPrune, Orders: []string{}, By: given.By, Reason: given.Reason}
		return cli.Print(cmd, shared, none, func(out io.Writer) { fmt.Fprintln(out, "no records are past their retention") })
	}
	for i := range orders {
		orders[i].By, orders[i].Reason, orders[i].Ticket = given.By, given.Reason, given.Ticket
	}
	return f.carryOut(cmd, shared, r, orders)
}

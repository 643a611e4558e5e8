package auditor

import (
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/hooktrail/hooktrail/internal/evidence/auditor"
	"github.com/hooktrail/hooktrail/internal/evidence/ledger"
	"github.com/hooktrail/hooktrail/internal/platform/cli"
	"github.com/hooktrail/hooktrail/pkg/events"
)

const retentionUsage = "retention rule for payloads as `KINDS=AGE`: tool.*=90d, issue.*=forever, *=7y; the first matching rule counts"

func pruneCommand(shared *cli.Shared) *cobra.Command {
	var (
		f     orderFlags
		rules retentionRules
	)
	cmd := &cobra.Command{
		Use:   "prune --keep KINDS=AGE",
		Short: "Erase the payloads that are past their retention",
		Long: `Erase the payloads of records that are older than their retention. The age counts
from the time at which the server stored the record. A rule has a pattern of kinds
and an age. The first matching rule counts, and records without one stay. An age is
in hours (12h), days (90d), weeks (26w) or years (7y) of 365 days, or forever.

Leaves and proofs stay, and auditor verify reports pruned records. Records under a
hold stay until it is lifted. With auditor serve --keep, the auditor prunes by
itself every hour. A tracker with another data directory prunes its texts when it reads the
order, and prune does not wait for that. If no auditor is running, prune drains the stream itself, and starts
the embedded server for that if no process runs it. Name another server with --nats-url.`,
		Example: `  auditor prune --keep 'issue.*=forever' --keep 'tool.*=90d' --keep '*=7y' --dry-run
  auditor serve --keep 'tool.*=90d' --keep '*=7y'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return f.prune(cmd, shared, rules) },
	}
	cmd.Flags().Var(&rules, "keep", retentionUsage)
	cmd.Flags().BoolVar(&f.dryRun, "dry-run", false, "report what would be pruned, and prune nothing")
	if err := cmd.MarkFlagRequired("keep"); err != nil {
		cmd.RunE = func(*cobra.Command, []string) error { return err }
	}
	f.register(cmd)
	return cmd
}

func (f *orderFlags) prune(cmd *cobra.Command, shared *cli.Shared, rules retentionRules) (err error) {
	if f.reason == "" {
		f.reason = "retention " + rules.String()
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
	orders, err := auditor.Expired(cmd.Context(), r, rules, time.Now())
	if err != nil {
		return err
	}
	if len(orders) == 0 {
		inForce, err := r.Orders().Rules(cmd.Context())
		if err != nil {
			return err
		}
		text := "no records are past their retention"
		if inForce.Floor > 0 {
			floor := ledger.Order{Action: events.AuditFloor, Floor: inForce.Floor}
			text += ": the ledger has the " + floor.Rule() + ", and younger records stay"
		}
		none := Change{Tenant: r.Tenant(), Action: events.AuditPrune, Orders: []string{}, By: given.By, Reason: given.Reason}
		return cli.Print(cmd, shared, none, func(out io.Writer) { fmt.Fprintln(out, text) })
	}
	for i := range orders {
		orders[i].By, orders[i].Reason, orders[i].Ticket = given.By, given.Reason, given.Ticket
	}
	return f.carryOut(cmd, shared, r, orders)
}
